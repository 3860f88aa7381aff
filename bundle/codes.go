package bundle

// A Code explains one error code. It is an alias of an unnamed type, so that every package can declare it.
type Code = struct{ Code, Title, Text, Bad, Good string }

// Codes explains the errors of bundles, in order.
var Codes = []Code{
	{
		Code: codeBroken, Title: "a bundle that is not whole",
		Text: "A bundle is a tar.gz of regular files: bundle.json first, then the files that it lists, with their sizes and SHA-256 sums, in its order and no others. " +
			"A bundle has at most 10,000 files, 64 MiB and a bundle.json of 1 MiB, and no two names that are one without letter case. " +
			"starhost writes nothing of an archive that breaks a rule. Build it again with starhost bundle build, or fetch it again.",
		Bad:  "tar -czf ops.tar.gz policy\n",
		Good: "starhost bundle build policy --name ops -o ops.tar.gz\n",
	},
	{
		Code: codeSignature, Title: "a signature that does not hold",
		Text: "The archive's signature is missing, is of a key that nobody named, or is for other bytes. The signature is minisign's, in the file beside the archive with .minisig at the end. " +
			"The message has the ids of the keys. During a rotation, [bundles.NAME] keys lists the old key and the new one.",
		Bad:  "starhost bundle verify ops.tar.gz --key RWQ-of-another-key\n",
		Good: "starhost bundle sign ops.tar.gz --key ops.key\n",
	},
}
