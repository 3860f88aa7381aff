package shell

// An options row says how a program reads its words: which flags have a value, and where its
// subcommand stands. It is data: a flag that is missing here costs certainty, never safety.
type options struct {
	// paths are programs, or a program with a subcommand, between commas. Behind a subcommand
	// without a row, the row "git *" counts, or the program's own.
	paths string
	// flags are flags between spaces, as they are written. ":" behind one says that a value belongs
	// to it, "=" that its value has the form KEY=VALUE, which counts as a flag KEY, too, and "?" that a value may
	// be attached.
	flags string
	// groups are the subcommands behind which another word of the subcommand stands. "*" stands for
	// any, and "**" for any up to a verb such as delete.
	groups string
	// style is the reader of the flags.
	style style
}

// A style is a habit of reading flags.
type style int

const (
	pflag   style = iota // -abc is -a -b -c; long flags are whole
	getopt               // the same; an unambiguous beginning of a long flag is enough
	oneDash              // -abc is one flag, as --abc
	bareSub              // as pflag, and the program's words are no subcommand
	gnu                  // as getopt, and the program's words are no subcommand
	single               // as oneDash, and the program's words are no subcommand
)

// kubernetes are the flags of kubectl and of programs like it, in all subcommands.
const kubernetes = " -n: --namespace: --context: --cluster: --user: --kubeconfig: -s: --server: --token: --as: --as-group: --as-uid: " +
	"--request-timeout: --cache-dir: --certificate-authority: --client-certificate: --client-key: --tls-server-name: --profile: " +
	"--profile-output: -v: --v: --username: --password: --log-file: --kuberc: --insecure-skip-tls-verify --match-server-version " +
	"--warnings-as-errors --disable-compression "

var optionTable = []options{
	// Version control.
	{"git", " -C: -c= --git-dir: --work-tree: --namespace: --super-prefix: --config-env= --attr-source: -p --paginate -P --no-pager --bare " +
		"--no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs " +
		"--icase-pathspecs --exec-path --html-path --man-path --info-path -v -h --version --help ",
		" stash remote worktree submodule reflog bisect bundle notes lfs sparse-checkout maintenance commit-graph ", getopt},
	{"git push", " -o: --push-option: --repo: --receive-pack: --exec: --force --force-with-lease --force-if-includes --follow-tags --mirror " +
		"--delete --prune --tags --all ", "", getopt},
	{"git commit", " -m: -F: -C: -c: -t: --message: --file: --reuse-message: --reedit-message: --fixup: --squash: --author: --date: --template: " +
		"--trailer: --cleanup: --pathspec-from-file: ", "", getopt},
	{"git merge,git tag,git notes add,git notes append", " -m: -F: -s: -X: -u: --message: --file: --strategy: --strategy-option: --local-user: --cleanup: ", "", getopt},
	{"git stash,git stash push,git stash save", " -m: --message: --pathspec-from-file: ", "", getopt},
	{"git checkout,git switch", " -b: -B: -c: -C: --orphan: --conflict: --pathspec-from-file: --create: --force-create: --force --discard-changes ", "", getopt},
	{"git restore", " -s: --source: --conflict: --pathspec-from-file: --staged --worktree ", "", getopt},
	{"git branch", " -u: --set-upstream-to: --contains: --no-contains: --merged: --no-merged: --points-at: --format: --sort: --delete --force --move --copy ", "", getopt},
	{"git reset", " -U: --pathspec-from-file: --hard --soft --mixed --merge --keep ", "", getopt},
	{"git clean", " -e: --exclude: --force --dry-run ", "", getopt},
	{"git rebase", " -s: -X: -x: -C: --onto: --exec: --strategy: --strategy-option: --whitespace: ", "", getopt},
	{"git fetch,git pull", " -j: -o: -s: -X: --depth: --deepen: --shallow-since: --shallow-exclude: --refmap: --server-option: --upload-pack: --negotiation-tip: " +
		"--jobs: --filter: --strategy: --strategy-option: --force --prune --all --tags ", "", getopt},
	{"git clone", " -o: -b: -u: -c= -j: --origin: --branch: --upload-pack: --config= --depth: --reference: --template: --jobs: --filter: --separate-git-dir: ", "", getopt},
	{"git log,git show,git diff,git reflog,git reflog show", " -n: -L: -S: -G: -O: -l: --max-count: --skip: --since: --after: --until: --before: --author: --committer: --grep: --format: --date: --output: ", "", getopt},
	{"git grep", " -e: -f: -A: -B: -C: -m: -O --max-count: --threads: ", "", getopt},
	{"git worktree add", " -b: -B: --reason: --force ", "", getopt},
	{"git update-ref", " -m: ", "", getopt},
	{"git rm,git add", " --chmod: --pathspec-from-file: --force --cached ", "", getopt},
	{"git config", " -f: --file: --blob: --type: --default: -t: ", "", getopt},
	{"git *", "", "", getopt},
	{"hg", " -R: --repository: --cwd: --config= -q -v -y --debug --traceback ", "", getopt},
	{"svn", " --username: --password: --config-dir: --config-option: -q -v --non-interactive ", "", getopt},
	{"gh", " -R: --repo: --hostname: -h --help --version ", "*", pflag},
	{"gh api", " -X: --method: -f= -F= --field= --raw-field= -H: --header: --input: -q: --jq: -t: --template: -p: --preview: --cache: --hostname: ", "", pflag},
	{"glab", " -R: --repo: ", "*", pflag},

	// Clusters.
	{"kubectl,kubecolor,oc,k", kubernetes + " -f: -k: -l: -o: -c: -p: --filename: --kustomize: --selector: --output: --container: --field-selector: --replicas: --image: " +
		"--type: --patch: --patch-file: --grace-period: --timeout: --dry-run --raw: --sort-by: --template: --tail: --since: --for: ",
		" rollout config set auth certificate create adm ", pflag},
	{"kubectl delete,oc delete,kubecolor delete", kubernetes + " -f: -k: -l: -o: --filename: --kustomize: --selector: --output: --field-selector: --grace-period: --timeout: --raw: ", "", pflag},
	{"kubectl logs,oc logs", kubernetes + " -c: -l: --container: --selector: --since: --since-time: --tail: --limit-bytes: --max-log-requests: ", "", pflag},
	{"kubectl get,oc get,kubectl describe", kubernetes + " -f: -k: -l: -o: -L: --filename: --selector: --output: --template: --sort-by: --field-selector: --raw: --label-columns: --chunk-size: ", "", pflag},
	{"kubectl exec,oc exec", kubernetes + " -c: -f: --container: --filename: --pod-running-timeout: ", "", pflag},
	{"kubectl rollout,kubectl config,kubectl set,kubectl create", kubernetes, "", pflag},
	{"helm", " -n: --namespace: --kube-context: --kubeconfig: --kube-apiserver: --kube-token: --kube-as-user: --kube-as-group: --kube-ca-file: --kube-tls-server-name: " +
		"--registry-config: --repository-cache: --repository-config: --burst-limit: --qps: --content-cache: -f: --values: --set= --set-string= --set-file= --version: --timeout: " +
		"--history-max: -l: --selector: -o: --output: --post-renderer: --debug --kube-insecure-skip-tls-verify ",
		" repo plugin dependency get show search registry pull ", pflag},
	{"helmfile", " -f: --file: -e: --environment: -l: --selector: --kube-context: -n: --namespace: --state-values-set= --chart: -q --quiet --debug --no-color ", "", pflag},
	{"argocd", " --server: --auth-token: --config: --context: --kube-context: --loglevel: --logformat: -H: --header: --grpc-web --insecure --plaintext --core ", "*", pflag},
	{"flux", " -n: --namespace: --context: --kubeconfig: --timeout: --verbose ", " create delete get suspend resume reconcile export ", pflag},
	{"kind,k3d,minikube,eksctl", " -p: --profile: --name: --verbosity: -v: --color: --kubeconfig: -q --quiet --verbose ", " create delete get load export node cluster image registry kubeconfig config ", pflag},

	// Infrastructure.
	{"terraform,tofu", " -chdir: -version -help ", " state workspace providers ", oneDash},
	{"terraform apply,terraform destroy,terraform plan,terraform import,tofu apply,tofu destroy,tofu plan,tofu import",
		" -var= -var-file: -target: -replace: -out: -state: -state-out: -backup: -parallelism: -lock-timeout: -refresh -input -auto-approve -destroy ", "", oneDash},
	{"terragrunt", " --terragrunt-working-dir: --working-dir: --terragrunt-config: --config: --terragrunt-log-level: --log-level: --terragrunt-non-interactive --non-interactive " +
		"--all -a ", " state workspace run run-all ", pflag},
	{"pulumi", " -C: --cwd: -s: --stack: --color: --profiling: --tracing: -v: --verbose: --config= -c= -m: --message: -p: --parallel: -t: --target: " +
		"--disable-integrity-checking -e --emoji --fully-qualify-stack-names --logflow --logtostderr --non-interactive ", " stack state config policy plugin org ", pflag},
	{"cdk", " -a: --app: -c= --context= --profile: -o: --output: -p: --plugin: -r: --role-arn: -v --verbose --debug --ci -i --ignore-errors --no-color ", "", pflag},
	{"sam", " --config-file: --config-env: --profile: --region: --stack-name: --debug ", " local pipeline remote list ", pflag},
	{"serverless,sls", " -s: --stage: -r: --region: -c: --config: -p: --param= -f: --function: --aws-profile: --verbose --debug ", " deploy invoke plugin remove ", pflag},
	{"vagrant", "", " box snapshot plugin cloud ", getopt},
	{"ansible-playbook,ansible", " -i: --inventory: -l: --limit: -e= --extra-vars= -m: --module-name: -a: --args: -u: --user: -t: --tags: --skip-tags: -f: --forks: " +
		"--private-key: --key-file: -M: --module-path: -T: --timeout: -c: --connection: --vault-id: --vault-password-file: -B: -P: -o ", "", gnu},
	{"nomad", " -address: -region: -namespace: -token: -no-color ", " job node alloc namespace var volume system operator acl ", oneDash},
	{"consul", "", " kv acl config operator services ", oneDash},
	{"vault", "", " kv secrets auth policy token lease operator audit ", oneDash},

	// Clouds. Their subcommands have two words or more.
	{"aws", " --profile: --region: --endpoint-url: --output: --query: --color: --ca-bundle: --cli-read-timeout: --cli-connect-timeout: --cli-binary-format: " +
		"--debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager --cli-auto-prompt --no-cli-auto-prompt ", "*", getopt},
	{"gcloud,gsutil,az,doctl,hcloud,linode-cli,oci,ibmcloud,scw", " --project: --account: --configuration: --region: --zone: --format: --impersonate-service-account: --verbosity: " +
		"--billing-project: --flags-file: --filter: --limit: --sort-by: --page-size: --flatten: --access-token-file: --subscription: -g: --resource-group: --name: -o: " +
		"--output: --query: -t: --access-token: --context: --profile: -c: --config: -h: -i: --compartment-id: " +
		"-q --quiet --no-user-output-enabled --user-output-enabled --log-http --trace-token --only-show-errors --verbose --debug -m -D --no-wait -y --yes ", "**", getopt},
	{"flyctl,fly", " -a: --app: -c: --config: -t: --access-token: -o: --org: --debug --verbose ", " apps volumes volume secrets machine machines postgres pg ips certs image mpg ", pflag},
	{"heroku,vercel,netlify,wrangler,firebase,supabase,railway", " -a: --app: -r: --remote: --cwd: -A: --local-config: -Q: --global-config: -t: --token: -S: --scope: " +
		"-c: --config: -e: --env: --project: --workdir: --site: -P: -d --debug --yes -y --prod ", " d1 kv r2 db env domains pg config sites projects functions secrets ", pflag},

	// Containers.
	{"docker,podman,nerdctl", " -c: --context: -H: --host: -l: --log-level: --config: --tlscacert: --tlscert: --tlskey: --url: --connection: --root: --runroot: -n: --namespace: -a: --address: " +
		"-D --debug --tls --tlsverify -v --version -r --remote --log-driver: ",
		" compose container image volume network system builder buildx stack service swarm node secret config context plugin trust manifest machine pod ", pflag},
	{"docker compose,docker-compose,podman compose,nerdctl compose", " -f: --file: -p: --project-name: --profile: --env-file: --project-directory: --ansi: --progress: --parallel: " +
		"--compatibility --dry-run --all-resources --verbose ", "", pflag},
	{"docker compose down,docker-compose down,podman compose down,docker compose rm,docker-compose rm,docker compose logs,docker-compose logs,docker compose up,docker-compose up",
		" -t: --timeout: --rmi: --scale= -n: --tail: --since: --until: ", "", pflag},
	{"docker rm,docker ps,docker volume rm,docker kill,podman rm,podman ps,nerdctl rm,docker container rm,docker rmi,docker image rm,docker logs",
		" -s: --signal: --filter= --format: -n: --last: --tail: --since: --until: -t: --time: ", "", pflag},
	{"docker run,docker create,docker exec,docker container run,docker container exec,docker compose run,docker compose exec,podman run,podman exec,nerdctl run,nerdctl exec",
		" -e= --env= -v: --volume: -p: --publish: -w: --workdir: -u: --user: -m: --memory: -h: --hostname: -l= --label= -a: --attach: -c: --name: --network: --net: --mount: " +
			"--env-file: --cpus: --platform: --pull: --restart: --entrypoint: --add-host: --ipc: --pid: --shm-size: --gpus: --ulimit= --cap-add: --cap-drop: --security-opt= " +
			"--index: --detach-keys: -i -t -d -P -q -T --rm --interactive --tty --detach --privileged --init --read-only --publish-all --quiet --no-TTY --device: --tmpfs: --userns: --uts: --cgroupns: --dns: --log-driver: --log-opt= --runtime: --stop-signal: --cidfile: ", "", pflag},
	{"docker build,docker buildx build,docker image build,podman build,nerdctl build",
		" -f: --file: -t: --tag: -o: --output: -c: -m: --build-arg= --label= --target: --platform: --progress: --secret= --ssh: --cache-from: --cache-to: --network: --builder: ", "", pflag},
	{"docker system prune,docker image prune,docker volume prune,docker container prune,docker builder prune,docker network prune,podman system prune,docker push,docker tag", " --filter= ", "", pflag},

	// Databases.
	{"psql", " -c: -d: -f: -h: -p: -U: -v= -L: -o: -F: -R: -T: -P= --command: --dbname: --file: --host: --port: --username: --set= --variable= --log-file: --output: " +
		"--field-separator: --record-separator: --table-attr: --pset= ", "", gnu},
	{"mysql,mariadb,mysqladmin,mysqldump", " -e: -h: -P: -u: -S: -D: --execute: --host: --port: --user: --socket: --database: --defaults-file: --password --default-character-set: -p ", "", gnu},
	{"sqlite3", " -cmd: -init: -separator: -newline: -nullvalue: -mmap: ", "", single},
	{"redis-cli,valkey-cli", " -h: -p: -n: -a: -u: -r: -i: -s: -d: -D: -t: --user: --pass: --pattern: --eval: --rdb: ", "", pflag},
	{"mongosh,mongo", " --eval: -f: --file: --host: --port: -u: -p: --username: --password: --authenticationDatabase: --db: ", "", bareSub},
	{"pg_dump,pg_restore,dropdb,createdb,dropuser,createuser", " -d: -h: -p: -U: -f: -F: -t: -T: -n: -N: -j: -Z: --dbname: --host: --port: --username: --file: --format: --table: --schema: --jobs: ", "", gnu},

	// Packages and builds.
	{"npm", " -w: --workspace: -C: --prefix: --registry: --loglevel: --userconfig: --cache: --tag: --otp: --access: --script-shell: -s --silent -q --quiet -d -dd -ddd --verbose " +
		"-g --global -ws --workspaces --if-present --no-audit --no-fund -y --yes -l --long --json ", " owner dist-tag access token config cache team org profile hook ", pflag},
	{"pnpm,yarn,bun", " -C: --dir: --filter: -F: --cwd: --registry: --loglevel: --reporter: --config= --tag: --otp: --access: -r --recursive -w --workspace-root -s --silent -v --verbose -i --include-workspace-root ", " npm workspace pm config cache ", pflag},
	{"cargo", " -Z: --config= --color: -C: --manifest-path: -p: --package: -F: --features: -j: --jobs: --target: --target-dir: --bin: --example: --test: --registry: --token: --index: --profile: --version: --vers: " +
		"-v --verbose -q --quiet --frozen --locked --offline -V --list ", "", pflag},
	{"go", " -C: ", " mod work tool ", oneDash},
	{"go build,go run,go test,go install,go vet,go generate,go list,go get", " -C: -o: -p: -exec: -toolexec: -vettool: -ldflags: -gcflags: -asmflags: -tags: -mod: -modfile: -overlay: -run: -bench: -count: -timeout: " +
		"-cpu: -coverprofile: -coverpkg: -covermode: -parallel: -benchtime: -skip: -fuzz: -fuzztime: -f: -cpuprofile: -memprofile: ", "", oneDash},
	{"make,gmake", " -C: -f: -I: -o: -W: --directory: --file: --makefile: --include-dir: --old-file: --assume-old: --what-if: --assume-new: --new-file: --eval: -j -l ", "", gnu},
	{"pip,pip3,uv,poetry,twine,gem,hatch,flit,bundle,composer,pipenv", " -r: -c: -e: -i: -t: -d: -C: --requirement: --constraint: --index-url: --extra-index-url: --target: --proxy: --log: --project: --directory: " +
		"--config-file: --cache-dir: --python: --color: --repository: -u: --username: -p: --password: -q --quiet -v --verbose --no-cache --offline --isolated -n --no-interaction ", " pip cache config self tool env version owner ", getopt},
	{"mvn", " -f: --file: -s: --settings: -P: -pl: -D= -T: -rf: ", "", single},
	{"gradle,gradlew", " -p: -b: -c: -D= -P= -x: -I: -g: --project-dir: --build-file: --exclude-task: --init-script: ", "", bareSub},

	// Networks.
	{"curl", " -s -S -f -L -i -k -I -v -G -g -4 -6 -# -n -X: -d: -H: -F: -T: -o: -u: -A: -b: -c: -e: -E: -K: -m: -w: -x: -r: -C: -D: -P: -Q: -t: -U: -y: -Y: -z: --request: --data: --data-raw: --data-binary: --data-urlencode: --data-ascii: --json: " +
		"--form: --form-string: --upload-file: --header: --output: --output-dir: --user: --user-agent: --cookie: --cookie-jar: --referer: --cert: --key: --cacert: --config: --max-time: --connect-timeout: " +
		"--write-out: --proxy: --range: --retry: --resolve: --url: --url-query: --unix-socket: --netrc-file: --dump-header: --oauth2-bearer: --variable: ", "", gnu},
	{"wget", " -O: -o: -a: -P: -e= -i: -t: -T: -U: -Q: -l: -A: -R: -D: -I: -X: -B: -w: --post-data: --post-file: --body-data: --body-file: --method: --header: --output-document: --output-file: " +
		"--directory-prefix: --execute: --input-file: --user: --password: --user-agent: --tries: --timeout: --load-cookies: --config: ", "", gnu},
	{"ssh", " -o= -4 -6 -A -a -C -f -g -K -k -M -N -n -q -s -T -t -v -X -x -Y -y -V -B: -b: -c: -D: -E: -e: -F: -I: -i: -J: -L: -l: -m: -O: -P: -p: -Q: -R: -S: -W: -w: ", "", bareSub},
	{"scp,sftp", " -o= -c: -D: -F: -i: -J: -l: -P: -S: -X: -b: -B: -R: -s: ", "", bareSub},
	{"rsync", " -e: -f: -B: -T: -M: --rsh: --rsync-path: --exclude: --include: --filter: --exclude-from: --include-from: --files-from: --backup-dir: --suffix: --temp-dir: --partial-dir: " +
		"--log-file: --bwlimit: --chmod: --chown: --max-delete: --max-size: --min-size: --timeout: --port: --password-file: --info: --remote-option: ", "", bareSub},
	{"nc,ncat,netcat", " -e: -c: -p: -s: -w: -i: -q: -x: -X: -g: -G: -O: -I: -T: --exec: --sh-exec: ", "", bareSub},

	// Runners.
	{"xcodebuild", " -scheme: -project: -workspace: -destination: -configuration: -sdk: -derivedDataPath: -quiet ", "", oneDash},
	{"conda,mamba,micromamba", " -n: --name: -p: --prefix: -q --quiet -v --json ", " env ", pflag},
	{"flask", " --app: -A: --env-file: -e: --debug --no-debug ", "", pflag},

	// Wrappers and shells.
	{"-,busybox,nocorrect,noglob,nohup,toybox,builtin,repeat,eval,trap,ash,bash,dash,ksh,mksh,rbash,sh,zsh", "", "", gnu},
	{"chrt", " -b -f -i -o -r -R -v -T: -P: -D: ", "", gnu},
	{"command", " -p -v -V ", "", gnu},
	{"doas", " -n -s -C: -u: ", "", gnu},
	{"ionice", " -t -c: -n: --ignore --class: --classdata: ", "", gnu},
	{"nice", " -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -n: --adjustment: ", "", gnu},
	{"setsid", " -c -f -w --ctty --fork --wait ", "", gnu},
	{"stdbuf", " -i: -o: -e: --input: --output: --error: ", "", gnu},
	{"time", " -a -p -l -v -f: -o: ", "", gnu},
	{"timeout", " -v -k: -s: --foreground --preserve-status --verbose --kill-after: --signal: ", "", gnu},
	{"env", " -i -v -0 -u: -C: -S: --ignore-environment --null --debug --unset: --chdir: --split-string: ", "", gnu},
	{"sudo", " -A -b -E -H -n -P -S -s -i -u: -g: -p: -C: -D: -R: -T: -h: --non-interactive --preserve-env --set-home --stdin --background --user: --group: --prompt: --host: --chdir: ", "", gnu},
	{"xargs", " -0 -r -t -x -o -p -a: -d: -E: -I: -L: -n: -P: -s: --null --no-run-if-empty --verbose --replace --max-args: --max-procs: --delimiter: --arg-file: ", "", gnu},
	{"srun", " -l -Q -u -v -p: -n: -N: -c: -t: -J: --exclusive --label --quiet --unbuffered --time: --cpus-per-task: --mem: --partition: --job-name: --ntasks: --nodes: --gres: --account: ", "", gnu},
	{"strace", " -c -C -f -q -r -t -T -v -V -y -e: -s: -S: ", "", gnu},
	{"exec", " -c -l -a: ", "", gnu},
	{"watch", " -b -c -e -g -t -w -x -p -r -n: --color --exec --no-title --precise --beep --errexit --interval: ", "", gnu},
	{"su", " -c: -l --command: --login ", "", gnu},

	// Files and the system.
	{"rm,rmdir,cat,ls,unlink,chgrp,sha256sum,md5sum,mktemp", " -I: -T: -w: ", "", gnu},
	{"cp,mv,ln,install", " -t: -S: -m: -o: -g: --target-directory: --suffix: --mode: --owner: --group: --backup --strip-program: ", "", gnu},
	{"chmod,chown", " --reference: --from: ", "", gnu},
	{"truncate", " -s: -r: --size: --reference: ", "", gnu},
	{"shred", " -n: -s: --iterations: --size: --random-source: --remove --zero ", "", gnu},
	{"mkdir,mknod,mkfifo", " -m: --mode: ", "", gnu},
	{"touch", " -d: -r: -t: --date: --reference: --time: ", "", gnu},
	{"find", "", "", single},
	{"grep,egrep,fgrep", " -e: -f: -A: -B: -C: -m: -d: -D: --regexp: --file: --max-count: --include: --exclude: --exclude-dir: --color --context: ", "", gnu},
	{"rg", " -e: -f: -A: -B: -C: -m: -g: -t: -T: -j: -r: -E: -M: -d: --pre: --type: --glob: --regexp: --file: --max-count: --max-depth: --replace: ", "", bareSub},
	{"sed,gsed", " -e: -f: -l: --expression: --file: --line-length: -i? --in-place -n -E -r -s -u -z ", "", gnu},
	{"awk,gawk,mawk,nawk", " -F: -v: ", "", bareSub},
	{"sort", " -k: -t: -S: -T: -o: --key: --field-separator: --buffer-size: --temporary-directory: --output: --compress-program: --parallel: ", "", gnu},
	{"head,tail", " -n: -c: -s: --lines: --bytes: --pid: ", "", gnu},
	{"tar", " -f: -C: -T: -X: -b: -g: -H: -I: -K: -L: -N: -V: --file: --directory: --files-from: --exclude: --exclude-from: --use-compress-program: --to-command: --transform: ", "", gnu},
	{"kill,pkill,killall", " -s: -n: -u: -U: -g: -G: -P: -t: -F: --signal: --uid: --user: ", "", bareSub},
	{"crontab", " -u: ", "", bareSub},
	{"dd", "", "", bareSub},
	{"systemctl,journalctl,loginctl,hostnamectl,timedatectl", " -H: --host: -M: --machine: -t: --type: -p: --property: -n: --lines: -o: --output: -s: --signal: --state: --root: --kill-whom: --what: -u: --unit: -S: --since: -U: --until: " +
		"--user --system --global -q --quiet --no-pager --now -f --force --no-ask-password --no-block --runtime ", "", getopt},
	{"apt,apt-get,dnf,yum,zypper", " -o= --option= -c: --config-file: -t: --target-release: -a: --enablerepo: --disablerepo: --releasever: --installroot: " +
		"-y --yes --assume-yes -q --quiet -qq --no-install-recommends -f --allow-downgrades --purge ", "", getopt},
	{"pacman,mkfs,mount,umount,useradd,usermod,userdel,iptables,ip6tables", " -o= -t: -L: -U: -u: -g: -G: -d: -s: -c: -e: -p: -j: -i: -m: --root: --dbpath: --home: --groups: --shell: --uid: --gid: ", "", gnu},
	{"brew,snap,flatpak,launchctl,ufw,firewall-cmd,service,zpool,zfs,diskutil,rclone,s3cmd,mc", " --config: -q --quiet -v --verbose -d --debug ", " services tap cask ", pflag},
}
