package shell

import (
	"fmt"
	"strings"
	"testing"
)

// lastOf returns the last command of a text.
func lastOf(t *testing.T, text string) Command {
	t.Helper()
	if strings.HasPrefix(text, "ssh ") { // some of its flags hide which command it runs
		var argv []*string
		for _, w := range strings.Fields(text) {
			argv = append(argv, &w)
		}
		return Command{Argv: argv}
	}
	s := Parse(text, "")
	if len(s.Commands) == 0 {
		t.Fatalf("%s: no command", text)
	}
	return s.Commands[len(s.Commands)-1]
}

func TestSubcommand(t *testing.T) {
	for text, want := range map[string]string{
		"kubectl --context x delete pod web":      "delete",
		"kubectl --context=x -n prod delete pod":  "delete",
		"kubectl -nprod delete pod":               "delete",
		"kubectl rollout -n prod undo deploy/web": "rollout undo",
		"kubectl":                                         "",
		"kubectl --frob x delete":                         "unknown",
		"kubectl --frob=x delete":                         "delete",
		"kubectl $verb pod":                               "unknown",
		"kubectl -n $ns delete pod":                       "unknown",
		"kubectl -n \"$ns\" delete pod":                   "delete",
		"kubectl delete $pod":                             "delete",
		"git -C dir push":                                 "push",
		"git -c a.b=c --git-dir x --no-pager push -f":     "push",
		"git stash drop":                                  "stash drop",
		"git stash":                                       "stash",
		"git stash -m drop":                               "stash",
		"git remote -v":                                   "remote",
		"sudo git commit -m push":                         "commit",
		"aws --profile p s3 rm s3://b/k":                  "s3 rm",
		"aws ec2 --region eu terminate-instances --ids x": "ec2 terminate-instances",
		"gcloud -q compute instances delete web":          "compute instances delete",
		"gcloud projects add-iam-policy-binding p":        "projects add-iam-policy-binding",
		"az storage blob delete-batch -s c":               "storage blob delete-batch",
		"docker compose down -v":                          "compose down",
		"docker compose -f prod.yml -p x down --volumes":  "compose down",
		"docker-compose -f prod.yml down":                 "down",
		"docker --context prod rm -f web":                 "rm",
		"docker volume rm data":                           "volume rm",
		"terraform -chdir=infra apply":                    "apply",
		"terraform state rm x":                            "state rm",
		"cargo +nightly --locked publish":                 "publish",
		"npm -w pkg publish":                              "publish",
		"gh pr -R a/b merge 1":                            "pr merge",
		"helm --kube-context prod uninstall web":          "uninstall",
		"systemctl --user stop x":                         "stop",
		"/usr/bin/git push":                               "push",
		"GIT.exe push":                                    "push",
		"rm -rf delete":                                   "",
		"find . -delete":                                  "",
		"acmectl destroy all":                             "destroy",
		"acmectl -x destroy":                              "unknown",
		"xargs kubectl delete":                            "delete",
		"xargs kubectl":                                   "unknown",
		"psql -c delete":                                  "",
		"heroku pg:reset -a x":                            "pg:reset",
	} {
		got := "unknown"
		last := lastOf(t, text)
		if sub := last.Subcommand(); sub != nil {
			got = *sub
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestFindFlags(t *testing.T) {
	tests := []struct{ text, names, want string }{
		{"git push -fu origin x", "f force", "yes"},
		{"git push -qf", "f force", "yes"},
		{"git push --forc", "f force", "yes"},
		{"git push --mirr b", "mirror", "yes"},
		{"git push --force-with-lease=main:x", "f force", "no"},
		{"git push origin main -f", "f force", "yes"},
		{"git push -- -f", "f force", "no"},
		{"gmv --forc a b", "f force", "yes"},
		{"sudo -u --login x", "login", "no"},
		{"git push -o -f", "f force", "no"},
		{"git push -of", "f force", "no"},
		{"git -C -f push", "f force", "no"},
		{"git -Cf push", "f", "no"},
		{"git commit -m -f", "f", "no"},
		{"git commit -mf", "f", "no"},
		{"git commit -am -f", "f", "no"},
		{"git commit -am x -f", "f", "yes"},
		{"git commit --message -f", "f", "no"},
		{"git push $x", "f", "maybe"},
		{"git push -f $x", "f", "yes"},
		{"git -c core.pager=x log", "core.pager", "yes"},
		{"rm -vrf x", "r recursive", "yes"},
		{"rm --rec x", "r recursive", "yes"},
		{"rm x -r", "r", "yes"},
		{"rm -r", "R", "no"},
		{"kubectl --forc delete x", "force", "no"}, // kubectl knows no beginnings
		{"frob --forc", "force", "maybe"},
		{"frob -xf", "f", "yes"},
		{"frob -force", "force", "yes"},
		{"terraform apply -auto-approve", "auto-approve", "yes"},
		{"terraform apply --auto-approve=true", "auto-approve", "yes"},
		{"terraform apply -destroy", "d", "no"},
		{"find . -delete", "d", "no"},
		{"find . -delete", "delete", "yes"},
		{"docker compose down -v", "v volumes", "yes"},
		{"docker compose -f x down -v", "v volumes", "yes"},
		{"docker run -v -f x", "f", "no"},
		{"docker rm -vf x", "f force", "yes"},
		{"ssh -oProxyCommand=x h", "proxycommand", "yes"},
		{"ssh -o ProxyCommand=x h", "ProxyCommand", "yes"},
		{"mount -o remount,rw /", "remount", "yes"},
		{"tar -cf x --remove-files y", "remove-files", "yes"},
		{"sudo -u f rm x", "f", "no"},
		{"curl -XDELETE u", "D", "no"},
		{"timeout -k -f 5", "f", "no"}, // a wrapper's own row
	}
	for _, tt := range tests {
		values, doubt := FindFlags(lastOf(t, tt.text).Argv, strings.Fields(tt.names))
		got := "no"
		switch {
		case len(values) > 0:
			got = "yes"
		case doubt:
			got = "maybe"
		}
		if got != tt.want {
			t.Errorf("%s: %s: got %s, want %s", tt.text, tt.names, got, tt.want)
		}
	}
}

func TestFlagValues(t *testing.T) {
	tests := []struct{ text, names, want string }{
		{"git -C dir push", "C", "[dir] true"},
		{"kubectl -nprod delete x", "n namespace", "[prod] true"},
		{"kubectl --namespace=prod delete x -n dev", "n namespace", "[prod dev] true"},
		{"kubectl delete x --context $c", "context", "[?] false"},
		{"kubectl delete x $flags", "n", "[] false"},
		{"curl -sXDELETE u", "X request", "[DELETE] true"},
		{"curl --request DELETE u", "X request", "[DELETE] true"},
		{"psql -Atc 'drop table x'", "c command", "[drop table x] true"},
		{"ssh -o ProxyCommand=x -oPort=1 h", "proxycommand", "[x] true"},
		{"frob --name x", "name", "[x] true"},
		{"frob -nx", "n", "[x] true"},
		{"make -j", "j", "[] true"},
		{"aws s3 ls --profile", "profile", "[] true"},
		{"terraform apply -var-file prod.tfvars", "var-file", "[prod.tfvars] true"},
	}
	for _, tt := range tests {
		values, doubt := FindFlags(lastOf(t, tt.text).Argv, strings.Fields(tt.names))
		list := []string{}
		for _, v := range values {
			if v == nil {
				list = append(list, "?")
			} else if *v != "" {
				list = append(list, *v)
			}
		}
		if got := fmt.Sprint(list, !doubt); got != tt.want {
			t.Errorf("%s: %s: got %s, want %s", tt.text, tt.names, got, tt.want)
		}
	}
}

// TestOptionTable checks the form of the rows: each path once, each flag with a dash.
func TestOptionTable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range optionTable {
		for path := range strings.SplitSeq(row.paths, ",") {
			if seen[path] {
				t.Errorf("%s: two rows", path)
			}
			seen[path] = true
		}
		for _, flag := range strings.Fields(row.flags) {
			if !strings.HasPrefix(flag, "-") {
				t.Errorf("%s: %s is no flag", row.paths, flag)
			}
		}
		for _, list := range []string{row.flags, row.groups} {
			if list != "" && !strings.HasPrefix(list, "*") && (list[0] != ' ' || list[len(list)-1] != ' ') {
				t.Errorf("%s: %q does not begin and end with a space", row.paths, list)
			}
		}
	}
}
