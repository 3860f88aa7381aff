package shell

import (
	"cmp"
	"slices"
	"testing"
)

// TestCode says which one-line programs of Python certainly run no other program, and which files
// they read and write; "?" is a file that is decided at run time.
func TestCode(t *testing.T) {
	for _, tt := range []struct {
		line  string
		want  string
		reads []string
		write string
	}{
		// What people and agents ask Python.
		{line: `python3 -c 'print(1+1)'`, want: "no"},
		{line: `python3 -c "import sys; print(sys.version)"`, want: "no"},
		{line: `python -c 'import json,sys; d = json.load(sys.stdin); print([f["name"] for f in d["files"]])' arg`, want: "no"},
		{line: `python3 -c 'import json; print(json.load(open("a.json"))["x"])'`, want: "no", reads: []string{"a.json"}},
		{line: `python3 -c 'print(open("a.txt", encoding="utf8").read().count("x"))'`, want: "no", reads: []string{"a.txt"}},
		{line: `python3 -u -c 'from datetime import datetime, timedelta; print(datetime.now() - timedelta(days=1))'`, want: "no"},
		{line: `python3 -c 'import re,sys; [print(m.group(1)) for l in sys.stdin for m in re.finditer(r"a(\d+)", l)]'`, want: "no"},
		{line: `python3 -c 'x = {"a": 1}; print(f"{x} {len(x):>5}")'`, want: "no"},
		{line: `python3 -c 'import os; print(os.path.exists("x"), os.getcwd())'`, want: "no"},
		{line: "python3 - <<'E'\nimport json\nfor k, v in json.loads('{}').items():\n    print(k, v)\nE", want: "no"},
		{line: "python3 <<E\nprint(1)\nE", want: "no"},
		{line: `node -p 1`, want: "no"}, {line: `node -e '"a\n"["constructor"]'`, want: "no"}, {line: `node -p 'process.versions.v8'`, want: "no"},
		{line: `node -e "console.log(process.version, JSON.stringify({}), [1, 2].join('\n'))"`, want: "no"},
		{line: "php -l src/a.php", want: "no"}, {line: "node --check a.js", want: "no"}, {line: "deno check a.ts", want: "no"}, {line: "deno fmt --check", want: "no"},
		{line: `python -c "import ast; ast.parse(open('a.py').read())"`, want: "no", reads: []string{"a.py"}},
		{line: `python3 -c 'open("a.json", "w").write("x")'`, want: "no", write: "a.json"}, {line: `python3 -c 'open("a", mode="a", encoding="utf-8")'`, want: "no", write: "a"}, {line: `python3 -c 'open("a", "r+")'`, want: "no", write: "a"},
		{line: `python3 -c 'import os, json as x; print(x.dumps(os.getcwd()))'`, want: "no"}, {line: `python3 -c 'print(type(x), 1)'`, want: "no"}, {line: `python3 -c 'print(f"{type(x).a!r}")'`},
		{line: `python3 -c 'from pathlib import Path; p = Path("src/a.py"); s = p.read_text(); p.write_text(s.replace("a", "b"))'`, want: "no", reads: []string{"src/a.py"}, write: "src/a.py"}, {line: `python3 -c 'import pathlib; print(pathlib.Path("a").read_text())'`, want: "no", reads: []string{"a"}},
		{line: `python3 -c 'open(x)'`, want: "no", reads: []string{"?"}}, {line: `python3 -c 'open("a" "b")'`, want: "no", reads: []string{"?"}}, {line: `python3 -c 'open("\x61")'`, want: "no", reads: []string{"?"}}, {line: `python3 -c 'open(f"{x}")'`, want: "no", reads: []string{"?"}},
		{line: "python3 - a <<'E'\nimport sys, json\n# each line\nfor n, l in enumerate(open(sys.argv[1], encoding=\"utf-8\", errors=\"replace\")):\n    print(n, json.loads(l))  # it\nE", want: "no", reads: []string{"?"}},
		{line: `python3 -c "print(f'{len((p.get(\"a\") or {}).get(\"b\") or [])} {x:{w}} {1!r}')"`, want: "no"}, {line: `python3 -c 'import json; json.dump({}, open("a.json", "w"))'`, want: "no", write: "a.json"},
		// What names an attribute without a dot, or by another name.
		{line: "python3 -c 'match (x for x in [1]):\n case object(gi_frame=object(f_builtins=b)): b[\"ex\"+\"ec\"](\"\")'"},
		{line: "python3 -c 'from pathlib import Path\nmatch Path(\"x\"):\n case object(unlink=u): u()'"},
		{line: "python3 -c 'match [(x for x in [1])]:\n case [object(gi_frame=f)]: f'"},
		{line: `python3 -c 'from pathlib import Path; Path("x").replace("y",)'`},
		{line: `python3 -c 'from pathlib import Path; Path("x").replace("y",**{})'`},
		{line: `python3 -c 'from pathlib import Path; Path("x").link_to("y")'`},
		{line: `python3 -c 'from pathlib import Path as P; P("x").write_text("y")'`},
		{line: `python3 -c 'from collections import Counter; print("{0.__init__.__globals__[_sys]}".format(Counter()))'`},
		{line: `python3 -c 'print((f+".__globals__}").format(x))'`},
		{line: `python3 -c 'print("{0" ".x}".format(x))'`},
		{line: `python3 -c 'print("\x7b0.x}".format(x))'`},
		{line: `python3 -c 'print(*map(str.format, ["{0.x}"], [1]))'`},
		{line: `python3 -c 'print("{{{0[a]}}}".format(x))'`},
		{line: `python3 -c 'print("{0:{1.x}}".format(x, y))'`},
		{line: `gawk 'BEGIN{getline < "/inet/tcp/0/x/80"}'`},
		{line: `python3 -c 'print("{:.2f} {{x}} {1!r:>{w}}\n".format(1.0, 2, w=3))'`, want: "no"},
		{line: `python3 -c 'import re; match = re.match("a", "b"); case = match.group(0) if match else match'`, want: "no"},
		{line: "python3 -c 'for match in []: print(match)\nfor case in []: print(case)'", want: "no"},
		{line: `awk '{ print > "out.csv" }' a`, want: "no", write: "out.csv"},
		// What runs another program, or may.
		{line: "php -l -d auto_prepend_file=x a.php"}, {line: "node --check -r ./x a.js"}, {line: "deno check --config x a.ts"}, {line: `php -r 'x'`}, {line: `node --check "$x"`},
		{line: `node -p 'JSON.parse(require("fs").readFileSync("/w/a.json", "utf8")).b'`, want: "no", reads: []string{"/w/a.json"}}, {line: `node -e 'const fs = require("node:fs"); console.log(JSON.parse(fs.readFileSync(0, "utf8")).a.slice(0, 8))'`, want: "no"},
		{line: `node -e 'const fs = require("fs"); ["a", "b"].sort(fs.unlinkSync)'`}, {line: `node -e 'const fs = require("fs"); JSON.stringify([1], fs.unlinkSync)'`}, {line: `node -e 'const f = require("fs").unlinkSync; f("a")'`}, {line: `node -e 'const f = require("fs"); const g = f; g.rmSync("a")'`},
		{line: `node -e 'require("fs").readFileSync("a" + x)'`}, {line: `node -e 'const x = "a"; require("fs").readFileSync(x)'`}, {line: `node -e 'require("fs").readFileSync("a", {flag: "w"})'`}, {line: `node -e 'const f = require("fs"); f["rmSync"]("a")'`}, {line: `node -e 'const f = require("fs").promises; f.rm("a")'`},
		{line: `node -e 'require("fs").readFileSync("\\x2eenv")'`}, {line: `node -e 'var f = require("fs"); var f = require("child_process")'`}, {line: `node -e 'console.log(require("fs"))'`}, {line: `node -e 'const a = require("fs").readFileSync; [1].sort(a)'`}, {line: `node -e 'require("fs").readFileSync("a").constructor.constructor("x")()'`},
		{line: `node -e 'p=1-->2'`}, {line: "node -e 'const p = 1; p.constructor.constructor\n--> ;\n(\"x\")'"}, {line: `node -e 'const a = Object.keys; a("x")'`}, {line: `node -e 'console.log(1)(2)'`}, {line: `node -e '[].constructor.constructor("x")()'`},
		{line: `node -e '[1].sort(x => x)'`}, {line: `node -e 'const a = 1; a.toString = 2'`}, {line: `node -e 'console["log"]("x")'`}, {line: `node -e 'const console = 1; console.log("x")'`}, {line: `node -p 'require("./package.json").version'`},
		{line: `node -p 'require("/a.json").version'`}, {line: `node -p 'require("./a.js.json".trim())'`}, {line: `node -p 'require("../a.json").version'`}, {line: `node -p 1 x`}, {line: `node -p 'a.constructor("x")'`},
		{line: `python3 -c 'import os; os.system("kubectl delete x")'`},
		{line: `python3 -c 'import subprocess; subprocess.run("x")'`},
		{line: `python3 -c '__import__("os").system("x")'`},
		{line: `python3 -c 'eval(input())'`}, {line: `python3 -c 'exec("x")'`},
		{line: `python3 -c 'print(().__class__.__bases__[0].__subclasses__())'`},
		{line: `python3 -c 'import sys; sys.modules["os"].system("x")'`},
		{line: `python3 -c 'import json; json.decoder.scanner'`}, {line: `python3 -c 'import json as j; j.codecs'`}, {line: `python3 -c 'import json; x = json; x.codecs'`},
		{line: `python3 -c 'from os import path; path.os.system("x")'`}, {line: `python3 -c 'import os; p = os.path; p.os.system("x")'`},
		{line: `python3 -c 'import os.path; os.path.os.system("x")'`}, {line: `python3 -c 'from os import *; system("x")'`},
		{line: `python3 -c 'import re; re.sre_compile'`}, {line: `python3 -c 'import re; re._compile'`},
		{line: `python3 -c 'getattr(x, "y")'`}, {line: `python3 -c 'print((i for i in []).gi_frame.f_builtins)'`},
		{line: `python3 -c 'f"{__import__(1)}"'`}, {line: `python3 -c 'f"{x["a"]}"'`}, {line: `python3 -c 'rf"\{exec(1)}"'`},
		{line: `python3 -c 'from pathlib import Path; Path("a").unlink()'`}, {line: `python3 -c 'from pathlib import Path; Path("a").rename("b")'`}, {line: `python3 -c 'from pathlib import Path; Path("a").replace("b")'`}, {line: `python3 -c 'from pathlib import Path; f = Path("a").replace; f("b")'`}, {line: `python3 -c 'from pathlib import Path; Path("a").replace(*["b"], )'`},
		{line: `python3 -c 'from pathlib import Path; (Path("a") / "b").write_text("")'`}, {line: `python3 -c 'from pathlib import Path; Path(x).write_text("")'`}, {line: `python3 -c 'from pathlib import Path; Path("a").parent.write_text("")'`}, {line: `python3 -c 'from pathlib import Path; Path("a", "b").write_text("")'`}, {line: `python3 -c 'from pathlib import Path as P; P(x).unlink()'`},
		{line: `python3 -c 'from pathlib import Path; P = Path; P(x).write_text("")'`}, {line: `python3 -c 'from pathlib import Path; list(map(Path, x))'`}, {line: `python3 -c 'import pathlib as p; p.Path.home()'`}, {line: `python3 -c 'from pathlib import Path; Path(".bashrc").write_text("x")'`}, {line: `python3 -c 'from pathlib import Path; Path("re.py").write_text("x"); import csv'`}, {line: `python3 -c 'open("re/__init__.py", "w")'`}, {line: `python3 -c 'open("./re.py", "w")'`}, {line: `python3 -c 'open("a/../re.py", "w")'`}, {line: `python3 -c 'open("/work/app/re.py", "w")'; python3 -c 'import re'`},
		{line: `python3 -c 'open("a/x.py", "w")'; python3 a/x.py`}, {line: `python3 -c 'open(x, "w")'`}, {line: `python3 -c 'open("a" "b", "w")'`}, {line: `python3 -c 'open("\x61", "w")'`}, {line: `python3 -c 'open(f"{x}", "w")'`}, {line: `python3 -c 'open(x, m)'`}, {line: `python3 -c 'open(x, "r" + m)'`},
		{line: `python3 -c 'open(*x)'`}, {line: `python3 -c 'open(x, *y)'`}, {line: `python3 -c 'open(file="a", mode="w")'`}, {line: `python3 -c 'open(mode="w", file="a")'`}, {line: `python3 -c 'open(x, encoding="a", mode="w")'`}, {line: `python3 -c 'open(x, **y)'`}, {line: `python3 -c 'open()'`},
		{line: `python3 -c 'print(type(open("a").buffer.raw)("b", "w"))'`}, {line: `python3 -c 't = type(x)'`}, {line: `python3 -c 'def print(f): f("b", "w")\nprint(type(x))'`}, {line: `python3 -c 'print = list; print(type(x))'`}, {line: `python3 -c 'f = lambda print: print(type(x))'`},
		{line: `python3 -c 'import json as open; print(1)'`}, {line: `python3 -c 'import json as print; print.codecs'`}, {line: `python3 -c 'import pandas'`}, {line: `python3 -c 'import sys; sys.path.insert(0, "src")'`},
		{line: "python3 -c 'raise\nimport os\nos.system(1)'"}, {line: "python3 -c 'raise\nfrom os import system\nsystem(1)'"}, {line: "python3 -c 'x = yield\nfrom os import system\nsystem(1)'"}, {line: "python3 -c 'raise a from b\nimport os\nos.system(1)'"}, {line: "python3 -c 'x.from\nimport os\nos.system(1)'"},
		{line: `python3 -c 'o = open; o("a", "w")'`}, {line: `python3 -c 'open("re.py", "w").write("x"); import csv'`}, {line: `python3 -c 'open(".bashrc", "a").write("x")'`}, {line: `python3 -c 'open("x.sh", "w").write("x")'; bash x.sh`}, {line: `python3 -c 'open(".git/hooks/x", "w")'`},
		{line: `python3 -c 'list(map(open, ["a"], ["w"]))'`}, {line: "python3 <<E\n# coding: utf-7\nprint(1)\nE"}, {line: "python3 -c 'print(1) # x\nimport os; os.system(1)'"}, {line: "python3 -c 'x = \"#\"; import pty'"},
		{line: `python3 -c "print(f'{\"{\"} \" {exec(1)} \"}')"`}, {line: `python3 -c 'f"{x:{exec(1)}}"'`}, {line: `python3 -c "f'{x:\"{exec(1)}\"}'"`}, {line: `python3 -c 'f"{x:\">3}{exec(1)}{y:\">3}"'`}, {line: `python3 -c "f'{x:\">3}{exec(1)}{y:\">3}'"`}, {line: `python3 -c 'f"{{{exec(1)}}}"'`}, {line: `python3 -c 'f"{x[{exec(1)}]}"'`},
		{line: `python3 -c 'import sys; sys.stdout = x'`}, {line: `python3 -c 'import string; string.Formatter'`}, {line: `python3 -c 'import importlib'`},
		{line: `python3 -c 'import mymodule'`}, {line: `python3 -c "print($x)"`}, {line: `python3 -c 'ｅval(1)'`}, {line: `python3 -c 'from . import x'`},
		{line: `python3 -c 'import sys; help()'`}, {line: `python3 -c 'print(1)' && python3 x.py`}, {line: `python3 -i -c 'print(1)'`}, {line: "python3 - a <<E\nimport os; os.system(1)\nE"},
		{line: `echo 'import os' > json.py; python3 -c 'import json'`}, {line: `PYTHONPATH=. python3 -c 'import json'`}, {line: "python3 <<E\nprint($x)\nE"},
		{line: `python3 -c 'type(open("a").buffer.raw)("b", "w")'`}, {line: `python3 -c 't"{exec(1)}"'`}, {line: `python3 -c 'x"a"'`}, {line: `python3 -c '1if 1else"a"'`},
		{line: "node -e '1 <!-- `\nx()\n1 <!-- `'"}, {line: `node -e 'Error.prepareStackTrace=(e,f)=>f; new Error().stack[0].getThis()'`},
		{line: `ruby -e 'puts 1'`}, {line: `perl -e 'print 1'`}, {line: `deno eval 'console.log(1)'`},
		{line: `node -e 'require("child_process").execSync("x")'`}, {line: `node -e 'child_process.execSync("x")'`}, {line: `node -e 'fs.writeFileSync("a", "b")'`},
		{line: `node -e 'const x = require("fs"); x.writeFileSync("a", "b")'`}, {line: `node -e 'const {exec} = require("child_process")'`}, {line: `node -e 'require("fs").writeFileSync("a", "b")'`},
		{line: `node -e 'console.log.constructor("x")()'`}, {line: `node -e 'console.log["constructor"]("x")()'`}, {line: `node -e 'console.log["constr" + "uctor"]("x")()'`},
		{line: `node -e 'const k = "x"; console.log[k]("x")()'`}, {line: `node -e 'x = function(){}["constructor"]("x")()'`},
		{line: `node -e 'const {constructor: F} = () => 1'`}, {line: `node -e 'const {"constructor": F} = () => 1'`}, {line: `node -e 'const {"\x63onstructor": F} = () => 1'`},
		{line: `node -e 'const {["constructor"]: F} = () => 1'`}, {line: `node -e 'const {x = child_process} = {}; x.execSync("y")'`}, {line: `node -e '((x = child_process) => x.execSync("y"))()'`},
		{line: `node -e '(1 ? child_process : 0).execSync("x")'`}, {line: `node -e 'process.mainModule.require("x")'`}, {line: `node -e 'process.binding("x")'`}, {line: `node -e 'process["binding"]'`},
		{line: `node -e 'import("fs")'`}, {line: `node -e 'eval("x")'`}, {line: `node -e 'new Function("x")()'`}, {line: `node -e 'globalThis.x'`}, {line: `node -e 'this.x'`},
		{line: `node -e 'const p = process; p.binding'`}, {line: `node -e 'require("./x.js")'`}, {line: `node -e 'require("./x")'`}, {line: "node -e 'console.log(`${child_process}`)'"},
		{line: `node -e '/"/; child_process.exec("x"); /"/'`}, {line: `node -e 'Object.getOwnPropertyDescriptor(Object.getPrototypeOf(x => x), "constructor").value("x")()'`},
		{line: `node -r ./x -e '1'`}, {line: `node -e '1' -r ./x`}, {line: `node --import=./x -p 1`}, {line: `NODE_OPTIONS='-r ./x' node -p 1`}, {line: `node -e 'process.dlopen'`},
		{line: `node -e 'setTimeout("x")'`}, {line: `node -e 'process.env.TOKEN'`}, {line: `node -e 'a = b => (c = vm, c.runInThisContext("x"))'`}, {line: `node x.js`}, {line: `node`},
	} {
		if tt.want == "" {
			tt.want = "maybe"
		}
		s := Parse(tt.line, "")
		if got := s.Runs("kubectl", []string{"delete"}); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.line, got, tt.want)
		}
		if tt.want == "maybe" {
			continue
		}
		var reads []string
		write, unknown := "", "?"
		for _, c := range s.Commands {
			for _, w := range c.Reads {
				reads = append(reads, *cmp.Or(w, &unknown))
			}
			for _, w := range c.Writes {
				write += *w
			}
		}
		if !slices.Equal(reads, tt.reads) || write != tt.write {
			t.Errorf("%s: it reads %v and writes %s, want %v and %s", tt.line, reads, write, tt.reads, tt.write)
		}
	}
}

// TestTrusted says what a runner counts as that the operator trusts.
func TestTrusted(t *testing.T) {
	trusted := []string{"uv", "pip", "pytest", "pnpm", "yarn", "go", "docker compose up", "npm test", "npm run", "npm init", "bundle exec rails", "rails test", "bin/rails", "tsx", "ninja", "just", "cdk synth", "java -jar *.jar", "pylint", "prisma generate", "nix-shell --run", "source *venv/bin/activate", "node", "python3"}
	for line, want := range map[string]string{
		"uv sync": "no", "uv pip list": "no", "uv pip install -r a.txt": "no", "uv run pytest -q": "no", "uv run bandit -r src -f json -o r.json": "no", "uv run --with x x check -c y": "no",
		"uv run bash -c 'kubectl delete x'": "yes", "uv run python -c 'import pty; pty.spawn(1)'": "maybe", "uv run kubectl delete x": "yes", "uv run -c x y": "maybe", "uv run x -c 'kubectl delete y'": "maybe",
		"uv run python -c 'print(1)'": "no", "python -m pip install --upgrade pip": "no", "python3 -m pytest -q": "no", "python3 -m x": "maybe", "python3 -m pytest -c x": "maybe", "./python3 -m pytest": "maybe",
		"pnpm --filter web test": "no", "pnpm fmt:check": "no", "pnpm dlx x": "maybe", "yarn create x": "maybe", "pnpm --dir x test": "no", "pnpm --dir /tmp test": "maybe", "pnpm -C ../x test": "maybe",
		"docker compose --profile test up -d": "no", "docker compose -f x.yml up": "no", "docker compose -f ../x.yml up": "maybe", "docker compose -f - up": "maybe", "docker compose -f https://x/y up": "maybe", "docker compose -f /tmp/x.yml up": "maybe", "echo a > x.yml; docker compose -f x.yml up": "maybe", "docker compose run x": "maybe", "docker compose up --build --wait": "no",
		"go test ./kubectl/... -v": "no", "go env kubectl": "no", "go test kubectl": "maybe", "go test -exec x": "maybe", "npm --prefix x test": "no", "npm --prefix /x test": "maybe", "npm --prefix \"$x\" test": "maybe", "cd /tmp; npm --prefix x test": "maybe", "npm --prefix=../x test": "maybe", "npm --script-shell x test": "maybe", "npm test": "no",
		"node a.js --x": "no", "node -e 'require(\"x\")'": "maybe", "node": "maybe", "pip install kubectl": "no", "uv add kubectl": "no", "go test ./... > a.go": "maybe",
		"python3 x.py --a b": "no", "cd sub && python3 x.py": "no", "python3 /work/app/x.py": "no", "npm run build && node dist/x.js": "no", "echo a | python3 x.py": "no", "mkdir -p a; python3 x.py": "no",
		"pytest /tmp/x": "maybe", "pytest --rootdir=/tmp": "maybe", "pnpm jest --rootDir /tmp/x": "maybe", "pnpm install /tmp/x.tgz": "maybe", "pnpm add a/b": "maybe", "pnpm add github:a/b": "maybe", "yarn add ../x": "maybe",
		"pip install -e ../x": "maybe", "pip install -r /tmp/r.txt": "maybe", "uv run --project /tmp/x pytest": "maybe", "go run /tmp/x": "maybe", "just /tmp/x": "maybe", "cd /tmp/x && go test": "maybe", "cd /tmp; npm test": "maybe",
		"cd /var/tmp/x && pytest": "maybe", "(cd /tmp/x; ninja)": "maybe", "git clone https://a/b && cd b && npm test": "maybe", "git clone https://a/b c; pytest": "maybe", "git pull https://a/b && npm test": "maybe", "git fetch git@a:b; git checkout FETCH_HEAD; npm test": "maybe", "git remote add x y && git fetch x && npm test": "maybe",
		"docker cp a:/x . && npm test": "maybe", "aws s3 cp s3://a/b . && npm test": "maybe", "GNUMAKEFLAGS=x npm test": "maybe", "BUN_OPTIONS=x npm test": "maybe", "CFLAGS=-fplugin=/tmp/x ninja": "maybe", "LDFLAGS=-Wl,-plugin,x ninja": "maybe", "CFLAGS='-mllvm -load=x' ninja": "maybe",
		"JAVA_HOME=/tmp/x ninja": "maybe", "PLAYWRIGHT_BROWSERS_PATH=/tmp npm test": "maybe", "PYTHONINSPECT=1 python3 x.py": "maybe", "PYTHONUSERBASE=/tmp python3 x.py": "maybe", "find . -fprintf .git/hooks/pre-commit x; npm test": "maybe", "find . -fprint conftest.py; pytest": "maybe",
		"pytest --basetemp=/tmp/x": "no", "pytest --basetemp /tmp/x": "no", "pnpm vite build --outDir /tmp/x": "no", "pytest -- /tmp/x": "no", "python3 x.py /tmp/x": "no", "go run ./cmd/x /tmp/x": "no", "go test -o /tmp/x": "no",
		"pnpm add @a/b": "no", "pnpm add -w packages/a": "no", "git fetch && npm test": "no", "git pull && npm test": "no", "cd /work/app/x && npm test": "no", "cd /other/x && npm test": "no", "docker exec a ls cp; npm test": "no",
		"JAVA_HOME=/usr/lib/jvm/x ninja": "no", "CFLAGS='-O2 -g -Ix' ninja": "no", "cd ~/x && npm test": "no",
		"python3 -c 'from pandas import read_csv; read_csv(\"https://x\")'": "maybe", "python3 -c 'from matplotlib.pyplot import savefig; savefig(\"x\")'": "maybe", "python3 -c 'import matplotlib; matplotlib.use(\"module://x\")'": "maybe",
		"python3 -c 'import matplotlib; matplotlib.use(\"Agg\")'": "no", "python3 -c 'import matplotlib.pyplot as plt; plt.figure().canvas.print_svg(\"x\")'": "maybe", "python3 -c 'import antigravity'": "maybe",
		"python3 -c 'import x.__main__'": "maybe", "python3 -c 'from x import API_TOKEN; print(API_TOKEN)'": "maybe", "python3 -c 'from x import y; print(y.SECRET_KEY)'": "maybe",
		"python3 -c 'import x; print(x.get_password())'": "maybe", "python3 -c 'from x import tokenizer; print(tokenizer.max_tokens)'": "no", "python3 -c 'import pandas as pd\nmatch pd.DataFrame({}):\n case object(to_csv=w): w(\"x\")'": "maybe",
		"go test ../x/...": "maybe", "go test /tmp/x/...": "maybe", "pnpm vitest --reporter=/tmp/x.mjs": "maybe", "pnpm vitest --coverage.customProviderModule=/tmp/x": "maybe", "pytest --cov-config=/tmp/x": "maybe", "pytest @/tmp/x.txt": "maybe",
		"pip install --requirement=/tmp/r.txt": "maybe", "pip install \"x @ file:///tmp/x\"": "maybe", "pip install \"x @ git+ssh://h/x\"": "maybe", "uv run --with \"x @ https://h/x\" pytest": "maybe", "yarn add x --a=--b=/tmp/x": "maybe", "ninja MAKE=/tmp/x": "maybe",
		"ninja CONFIG_SHELL=/tmp/x": "maybe", "python3 -c 'import shutil; print(shutil.os.environ)'": "maybe", "python3 -c 'from x import settings; print(settings)'": "maybe",
		"pytest --cov-report=html:/tmp/x": "no", "pnpm vite build --base=/x/": "no", "go test -run /x": "no", "ninja DESTDIR=/tmp/x": "no", "pnpm vite --outDir=/tmp/x": "no", "python3 -c 'from x import settings; print(settings.DEBUG)'": "no",
		"pytest /tmp/x.py": "maybe", "go run /tmp/x.go": "maybe", "pytest --plugin-x=/tmp/x.py": "maybe", "pytest /work/app/x.py": "no", "go run ./cmd/x /tmp/a.txt": "no",
		"python3 /tmp/x.py": "maybe", "python3 ../x.py": "maybe", "cd sub && python3 ../x.py": "maybe", "cd /tmp && python3 x.py": "maybe", "cd \"$d\"; python3 x.py": "maybe", "python3 /work/apple/x.py": "maybe",
		"curl -o x.py http://a; python3 x.py": "maybe", "cat > x.py <<E\na\nE\npython3 x.py": "maybe", "unzip x.zip && python3 x.py": "maybe", "git pull && python3 x.py": "maybe", "frob && node x.js": "maybe",
		"cp /tmp/a.py x.py; python3 x.py": "maybe", "ln -sf /tmp/y x.py; python3 x.py": "maybe", "sed -i s/a/b/ x.py && python3 x.py": "maybe", "python3 *.py": "maybe", "python3 -i x.py": "maybe", "node -r ./a x.js": "maybe",
		"python3 x.py kubectl delete": "maybe", "ssh h python3 x.py": "maybe", "docker exec a python3 x.py": "maybe", "PYTHONPATH=/tmp python3 x.py": "maybe", "python3 manage.py flush": "maybe", "node inspect -e x": "maybe", "git log --output=x.py; python3 x.py": "maybe", "git diff $a; python3 x.py": "maybe", "git log --oneline; python3 x.py": "no", "python3 < x.py": "maybe",
		"source /tmp/venv/bin/activate": "maybe", "source ../.venv/bin/activate": "maybe", "source \"$x\"/.venv/bin/activate": "maybe",
		".venv/bin/pytest -q": "no", "venv/bin/python -m pytest": "no", ".venv/bin/python3 x.py": "no", ".venv/bin/pip install -U pip": "no", "/work/app/.venv/bin/pytest": "no", ".venv/bin/python -c 'import os; os.system(1)'": "maybe",
		"/tmp/venv/bin/pytest": "maybe", "../venv/bin/pytest": "maybe", "cp x .venv/bin/pytest; .venv/bin/pytest": "maybe", ".venv/bin/x": "maybe", ".venv/bin/python3 /tmp/x.py": "maybe", "bin/pytest kubectl": "maybe",
		"go build -o /tmp/app ./cmd/app && /tmp/app -h": "no", "go build -o bin/app . && ./bin/app -h": "no", "go build -o app . && cd /x && ./app": "maybe", "go build -o /tmp/app . && cp x /tmp/app && /tmp/app": "maybe",
		"curl -o /tmp/app x; go build -o /tmp/app .; /tmp/app": "maybe", "go build -o /tmp/app /x && /tmp/app": "maybe", "go build -o /tmp/app ../x && /tmp/app": "maybe", "go build -o a . && ./b": "maybe", "echo x > a.go; go build -o a . && ./a": "maybe",
		"go build -o /tmp/app . && /tmp/app kubectl delete": "maybe", "gcc -o /tmp/t t.c && /tmp/t": "maybe", "go build -o \"$x\" . && ./x": "maybe", "/tmp/app; go build -o /tmp/app .": "maybe", "ssh h 'go build -o a .' ; ./a": "maybe",
		"npm test; curl -s localhost:1": "no", "npm test; curl -so /dev/null -w '%{http_code}' a": "no", "npm test; curl -XPOST -d '{}' -H \"A: $x\" a": "no", "npm test; curl -s localhost:1 -o /tmp/a.html && head /tmp/a.html": "no", "npm test; curl --output /tmp/a.json a": "no", "pytest /tmp/x; curl -so /tmp/conftest.py a": "maybe", "npm test; curl -so package.json a": "maybe", "npm test; curl -o '#1.js' a": "maybe", "npm test; curl -o /tmp/a -o x.js a": "maybe", "npm test; curl -so .git/hooks/x a": "maybe", "npm test; curl -o x.js a": "maybe", "npm test; curl -sSLO a": "maybe", "npm test; curl -w '%output{x.js}' a": "maybe",
		"npm test; curl -w \"$x\" a": "maybe", "npm test; curl -w @x a": "maybe", "npm test; curl -K x a": "maybe", "npm test; curl -c x.js a": "maybe", "npm test; curl $x a": "maybe", "npm test; curl --out x.js a": "maybe", "npm test; curl -sox.js a": "maybe", "npm test; curl -D x.js a": "maybe", "npm test; curl -H $x a": "maybe",
		"npm test > out.txt": "no", "npm test > out.json": "no", "npm test > test-results.xml": "no", "npm test | tee out.log": "no", "npm test > /tmp/x": "no", "echo $! > /tmp/pid; npm test": "no", "npm test > package.json": "maybe", "npm test > layout.json": "maybe", "echo x > pom.xml; npm test": "maybe",
		"echo x > CMakeLists.txt; npm test": "maybe", "echo x > requirements.txt; npm test": "maybe", "echo x > /tmp/conftest.py; pytest /tmp": "maybe", "echo x > /tmp/conftest.py; cd /tmp && pytest": "maybe", "npm test | tee x.js": "maybe", "cp -r a b; npm test": "maybe", "echo x > /tmp/../x.js; npm test": "maybe",
		"python3 x.py --in a --out b.csv": "no", "python3 -u x.py": "no", "node --watch x.js": "no", "node --import ./y x.js": "maybe", "python3 -u /tmp/x.py": "maybe", "python3 -u -c 'import os; os.system(1)'": "maybe", "echo a > x.py; python3 -u x.py": "maybe",
		"npm exec -- pytest": "no", "uvx pytest": "no", "pnpm dlx pytest": "no", "bun x pytest": "no", "pytest -p no:cacheprovider": "no", "pytest -p x": "maybe", "python3 -m pytest kubectl": "maybe", "python3 x.py kubectl": "maybe",
		"export PATH=$HOME/.cargo/bin:$PATH; ls": "no", "PATH=\"$PATH:/usr/local/go/bin\" ls": "no", "PATH=.:$PATH ls": "maybe", "PATH=$HOME/x:$PATH ls": "maybe", "PATH=$x:$PATH ls": "maybe", "HOME=/tmp; PATH=$HOME/.cargo/bin:$PATH; ls": "maybe", "PATH+=:. ls": "maybe",
		"npx pytest": "no", "npx -y pytest": "no", "npx -p x pytest": "maybe", "npx -c pytest": "maybe", "npx x": "maybe", "npx pytest --exec x": "maybe", "npx \"$x\"": "maybe", "npx": "maybe",
		"git bisect run go test ./...": "no", "git bisect run ./x.sh": "maybe", "git bisect run python3 x.py": "maybe", "git bisect run kubectl delete x": "maybe", "git bisect run": "maybe", "git bisect \"$x\" y": "maybe",
		"python3 -c 'import torch; print(torch.__version__, torch.cuda.is_available())'": "no", "python3 -c 'import app.main'": "no", "python3 -c 'from a.b import c as d; print(d.e)'": "no", "python3 -c 'import os; print(os.system(\"x\"))'": "maybe",
		"python3 -c 'import os; os.abort()'": "maybe", "python3 -c 'import os as print; print(1)'": "maybe", "python3 -c 'from os import system as print; print(1)'": "maybe", "python3 -c 'import a; print([a.b for c in a.d])'": "maybe",
		"python3 -c 'import a; print(*a.b)'": "maybe", "python3 -c 'import a; print(a.b[0])'": "maybe", "python3 -c 'import a; print(a.drop_all())'": "maybe", "python3 -c 'from a import *'": "maybe", "echo x > torch.py; python3 -c 'import torch'": "maybe",
		"node -p 'require(\"./package.json\").version'": "no", "echo x > package.json; node -p 'require(\"./package.json\").version'": "maybe", "mv a package.json.js; node -p 'require(\"./package.json\").version'": "maybe",
		"NODE_OPTIONS=--max-old-space-size=4096 npm test": "no", "NODE_OPTIONS='--max-old-space-size=1 -r ./x' npm test": "maybe", "GOFLAGS=-mod=mod go test ./...": "no", "GOFLAGS=-toolexec=x go test": "maybe", "GOFLAGS=\"$x\" go test": "maybe",
		"RUSTFLAGS='-D warnings' ls": "no", "RUSTFLAGS='-C linker=x' ls": "maybe", "RUSTFLAGS=@x ls": "maybe", "PYTHONPATH=src pytest": "no", "PYTHONPATH=.:src pytest": "no", "PYTHONPATH=/tmp:src pytest": "maybe", "PYTHONPATH= pytest": "maybe",
		"PYTHONPATH=../x pytest": "maybe", "echo x > src/sitecustomize.py; PYTHONPATH=src pytest": "maybe", "MAKEFLAGS=-j8 ls": "no", "MAKEFLAGS=--eval=x ls": "maybe",
		"bundle exec rails db:drop": "maybe", "bundle exec rails test": "no", "bundle exec kubectl delete x": "maybe", "uv run python3 x.py": "no", "uv run tsx -e 'x()'": "maybe",
		"tsx a.ts": "no", "tsx -e 'x()'": "maybe", "tsx -e 'console.log(1)'": "no", "npx tsx -p 'require(\"./a.json\").b'": "maybe", "tsx /tmp/a.ts": "maybe", "pnpm tsx a.ts": "no", "pnpm tsx -e 'x()'": "maybe",
		"npm init -y": "no", "npm init x": "maybe", "npm init \"$x\"": "maybe", "pnpm -r dlx x": "maybe", "yarn workspace a dlx x": "maybe", "pnpm add tsx -D": "no",
		"pip install https://x/y": "maybe", "pip install --index-url https://x y": "maybe", "pytest --url=http://localhost:80/x": "no", "pytest 'http://[::1]:1'": "no", "pytest http://localhost.x/y": "maybe", "pytest http://localhost:1@x/y": "maybe",
		"pytest 'http://[::2]'": "maybe", "yarn plugin import https://x/y.js": "maybe", "npm test git@x:y": "maybe", "java -jar https://x/y.jar": "maybe", "java -jar x.jar": "no",
		"just --command x": "maybe", "just --shell-arg x": "maybe", "just --justfile /tmp/x": "maybe", "just --justfile x": "no", "just -f x": "no", "just --no-command x": "no", "cdk synth --app 'x y'": "maybe", "cdk synth --quiet": "no",
		"pylint --init-hook=x a": "maybe", "pylint --load-plugins x a": "maybe", "npm test --node-options=x": "maybe",
		"GOPROXY=http://x go build": "maybe", "GOPROXY=off go build": "no", "MAKEFILES=x ninja": "maybe", "PIP_INDEX_URL=http://x pip install y": "maybe", "PIP_NO_INPUT=1 pip install y": "no", "PIP_X=\"$x\" pip install y": "maybe", "export UV_PYTHON=/tmp/x; uv sync": "maybe",
		"env npm_config_registry=http://x npm test": "maybe", "UV_CACHE_DIR=/tmp/x uv sync": "no", "PYTEST_ADDOPTS='a -p x' pytest": "maybe",
		"tar xf x && ninja": "maybe", "tar -C y -xf x; ninja": "maybe", "curl -s x | tar xz && ninja": "maybe", "tar --get -f x; ninja": "maybe", "tar \"$a\" x; ninja": "maybe", "ninja && tar xf x": "no", "tar czvf x y && ninja": "no", "unzip x && ninja": "maybe", "unzip -l x && ninja": "no", "aria2c x && ninja": "maybe",
		"ninja -f x.log": "no", "curl x > x.log; ninja -f x.log": "maybe", "ninja > x.log": "no",
		"go run kubectl.example/x@latest": "maybe", "go install x.example/y@v1 -v": "maybe", "go tool x.example/y@v1": "maybe", "go run . a@b": "no", "go run ./x a@b": "no", "go run x.go a@b": "no", "go install ./...": "no",
		"go get x.example/y@v1": "no", "go list -m x.example/y@latest": "no", "go -C x run y.example/z@v1": "maybe", "go run ./x@v1": "no", "uv tool run x": "maybe", "uv tool install x": "maybe",
		"env/bin/python -c 'import json; print(1)'": "no", "env/bin/python -c 'import os; os.system(1)'": "maybe", "/tmp/bin/python -c 'print(1)'": "maybe", "env/bin/python <<E\nprint(1)\nE": "no",
		"python3 - <<E\nimport os; os.system(1)\nE": "maybe", ".venv/bin/python - <<E\nimport os; os.system(1)\nE": "maybe", "python3 - < x.py": "maybe", "node - <<E\nx()\nE": "maybe", ".venv/bin/python3 - a <<E\nx = 1; exec(1)\nE": "maybe",
		"python3 - <<E\nprint(1)\nE": "no", ".venv/bin/python -u - a <<E\nimport json, sys\nprint(json.load(open(sys.argv[1])))\nE": "no",
		"python3 -c 'import a; print(a.b); print(dir(a.c), hasattr(a, \"x\"), f\"{a.d} {a.e!r:>5}\")'": "no", "python3 -c 'import a as b, c.d; x = [n for n in dir(b) if n]; print(x, c.e)'": "no",
		"python3 -c 'import a; a.b()'": "maybe", "python3 -c 'import sys; sys.path.insert(0, \"/tmp\"); import a'": "maybe", "python3 -c 'import a; x = a.b; x()'": "maybe", "python3 -c 'import a; list(map(a.b, [1]))'": "maybe", "python3 -c 'import a; print(a.b())'": "maybe", "python3 -c 'import a\nfor x in a.b: print(x)'": "maybe", "python3 -c 'import a\nwith a.b: pass'": "maybe", "python3 -c 'import a; print(a.b + a.c)'": "maybe", "python3 -c 'import a; print(a.is_x(1))'": "maybe",
		"python3 -c 'import a; print = list; print(a.b)'": "maybe", "python3 -c 'import a\ndef print(f): f()\nprint(a.b)'": "maybe", "python3 -c 'import a\ndef f(print): print(a.b)\nf(g)'": "maybe", "python3 -c 'from a import b as print; print(1)'": "maybe", "python3 -c 'import a; x.print(a.b)'": "maybe", "python3 -c 'import a; print(f\"{a.b()}\")'": "maybe", "python3 -c 'import a; print(f\"{x(a.b)}\")'": "maybe",
		"python3 -c 'import a as json; json.loads(1); import json'": "maybe", "python3 -c 'import json; import a as json; json.loads(1)'": "maybe", "python3 -c 'import inspect, a; inspect.signature(a.b).return_annotation(1)'": "maybe", "python3 -c 'import inspect, a; s = inspect.signature(a.b)'": "maybe", "python3 -c 'import a; a.b = 1'": "maybe", "python3 -c 'import subprocess; print(subprocess.run(1))'": "maybe", "python3 -c 'import subprocess as s; s.run(1)'": "maybe", "python3 -c 'from subprocess import run; run(1)'": "maybe", "python3 -c 'import shutil as json; json.rmtree(1)'": "maybe",
		"python3 -c 'import pandas as pd; d = pd.read_csv(\"a.csv\"); print(d.head(5).to_string(), d.sort_values(\"x\").to_string(index=False))'": "no", ".venv/bin/python -c 'import nbformat; n = nbformat.read(\"a\", as_version=4); nbformat.validate(n); print([c.source for c in n.cells])'": "no", "python3 -c 'import yaml; print(yaml.safe_load(open(\"a\")))'": "no", "python3 -c 'import numpy as np; print(np.mean([1]))'": "no",
		"python3 -c 'import pandas as pd; pd.read_pickle(\"a\")'": "maybe", "python3 -c 'import pandas as pd; pd.read_csv(\"http://x/y\")'": "maybe", "python3 -c 'import pandas as pd; pd.read_csv(\"http:\" \"//x/y\")'": "maybe", "python3 -c 'import pandas as pd; pd.read_csv(x)'": "maybe", "python3 -c 'import pandas as pd; pd.read_csv(\"a\").to_csv(\"b\")'": "maybe", "python3 -c 'import pandas as pd; pd.DataFrame().to_string(\"b\")'": "maybe", "python3 -c 'import pandas as pd; pd.DataFrame().to_string(buf=\"b\")'": "maybe",
		"python3 -c 'import pandas as pd; pd.DataFrame().agg(\"to_csv\", 0, \"b\")'": "maybe", "python3 -c 'import pandas as pd; pd.DataFrame().query(\"x\")'": "maybe", "python3 -c 'import pandas as pd; pd.io'": "maybe", "python3 -c 'import pandas as pd; f = pd.DataFrame().to_string; f(\"b\")'": "maybe", "python3 -c 'import numpy as np; np.array(1).tofile(\"b\")'": "maybe", "python3 -c 'import numpy as np; np.load(\"b\")'": "maybe", "python3 -c 'import yaml; yaml.load(open(\"a\"))'": "maybe", "echo x > pandas.py; python3 -c 'import pandas'": "maybe",
		"python3 -c 'import inspect, a; print(str(inspect.signature(a.b))[:9], str(inspect.signature(a.C.__init__)), inspect.getsource(a.b))'": "no", "python3 -c 'import importlib\nfor m in [\"a\", \"b\"]:\n    try: importlib.import_module(m); print(m)\n    except Exception as e: print(type(e).__name__)'": "no", "python3 -c 'import sys; sys.path.insert(0, \"src\"); import a; print(a.b)'": "no", "python3 -c 'import sys; sys.path.append(\".\"); import a'": "no", "python3 -c 'print(__import__(\"time\").time())'": "no",
		"python3 -c 'import sqlite3; d = sqlite3.connect(\"file:\" + x + \"?mode=ro\", uri=True); print(d.execute(\"SELECT a FROM b WHERE c=?\", (1,)).fetchall())'": "no", "python3 -c 'import json, pandas as pd; print(json.dumps(pd.read_csv(\"a.csv\").to_dict()))'": "no", "python3 -c 'import anndata as ad, pandas as pd; a = ad.read_h5ad(\"a.h5ad\"); print(pd.crosstab(a.obs[\"x\"], a.obs[\"y\"]).to_string())'": "no", "python3 -c 'import polars as pl; print(pl.read_csv(\"a.csv\").head())'": "no", "python3 -c 'from scipy import stats; print(stats.pearsonr([1], [2]))'": "no", "python3 -c 'import matplotlib.pyplot as plt; fig, ax = plt.subplots(); ax.plot([1]); plt.savefig(\"a.png\")'": "maybe",
		"python3 -c 'import inspect, a; print(inspect.signature(a.b).return_annotation(1))'": "maybe", "python3 -c 'import inspect, a; print(inspect.getmembers(a)[0][1]())'": "maybe", "python3 -c 'import inspect, a; print(inspect.getmembers(a, a.b))'": "maybe", "python3 -c 'import inspect; x = inspect.getmembers(y)'": "maybe", "python3 -c 'from inspect import getmembers; getmembers(x)'": "maybe", "python3 -c 'import inspect, a; c.inspect.signature(a.b)'": "maybe",
		"python3 -c 'import inspect, a; c.signature(a.b)'": "maybe", "python3 -c 'import inspect, a; print(inspect.currentframe())'": "maybe", "python3 -c 'p.__init__(\"b\")'": "maybe", "python3 -c 'import inspect; (p.__init__)(\"b\")'": "maybe", "python3 -c 'import importlib; importlib.import_module(\"os\").system(1)'": "maybe", "python3 -c 'import importlib; m = importlib.import_module(\"os\"); m.system(1)'": "maybe",
		"python3 -c 'from importlib import import_module; import_module(\"os\").system(1)'": "maybe", "python3 -c 'import importlib; f = lambda: importlib.import_module(\"os\"); f().system(1)'": "maybe", "python3 -c 'import importlib; [importlib.import_module(\"os\")][0].system(1)'": "maybe", "python3 -c 'import importlib.util; s = importlib.util.find_spec(\"a\"); s.loader.load_module()'": "maybe", "python3 -c 'import importlib; importlib.reload(a)'": "maybe", "python3 -c 'import sys; sys.path.insert(0, \"../a\"); import a'": "maybe",
		"python3 -c 'import sys; sys.path.insert(0, x); import a'": "maybe", "python3 -c 'import sys; sys.path.insert(0, \"/tmp\" \"/a\"); import a'": "maybe", "python3 -c 'import sys; sys.path.extend([\"/tmp\"]); import a'": "maybe", "python3 -c 'import sys; p = sys.path; p.insert(0, \"/tmp\"); import a'": "maybe", "python3 -c 'import sys; sys.path.insert(0, \"src\"); import a; a.b()'": "maybe", "python3 -c '__import__(\"os\").system(1)'": "maybe",
		"python3 -c '__import__(\"json\").codecs'": "maybe", "python3 -c '__import__(\"a\").b()'": "maybe", "python3 -c '__import__(x).time()'": "maybe", "python3 -c 'f = __import__; f(\"os\")'": "maybe", "python3 -c 'm = __import__(\"os\"); m.system(1)'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(\"DELETE FROM b\")'": "maybe",
		"python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(x)'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(\"SELECT 1\" + x)'": "maybe", "python3 -c 'import sqlite3; d = sqlite3.connect(\"a\"); f = d.execute; f(\"DROP TABLE b\")'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").executescript(\"SELECT 1\")'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").load_extension(\"x\")'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(\"SELECT 1; DROP TABLE b\")'": "maybe",
		"python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(\"WITH c AS (SELECT 1) DELETE FROM b\")'": "maybe", "python3 -c 'import sqlite3; sqlite3.connect(\"a\").execute(\"PRAGMA user_version=1\")'": "maybe", "python3 -c 'import sqlite3; list(map(sqlite3.connect(\"a\").execute, [\"DROP TABLE b\"]))'": "maybe", "python3 -c 'import anndata as ad; ad.read_h5ad(\"a\").write_h5ad(\"b\")'": "maybe", "python3 -c 'import anndata as ad; a = ad.read_h5ad(\"a\"); a.filename = \"b\"'": "maybe", "python3 -c 'import polars as pl; pl.scan_csv(\"a\").sink_csv(\"b\")'": "maybe",
		"python3 -c 'import polars as pl; pl.scan_csv(\"http://x/y\")'": "maybe", "python3 -c 'import matplotlib.pyplot as plt; plt.savefig(x)'": "maybe", "python3 -c 'import pandas as pd; pd.read_csv(\"a\").plot(backend=\"b\")'": "maybe", "python3 -c 'import pandas as pd; x.json.dump(1, \"b\")'": "maybe", "python3 -c 'import matplotlib.pyplot as plt; plt.title(x, usetex=True)'": "maybe",
		"perl -pe 's/a\\/b/b/g' x.txt": "no", "perl -0pi -e 's{<a>x</a>}{<b>$1 \\$x</b>}gs; tr/a-z/A-Z/' src/a.tsx": "no", "perl -pi.bak -e 's/a$/b/' -e 's|(x)|$1-|i' src/a.go": "no", "perl -i -pe 's#a#b#' x; cat x": "no", "echo a | perl -pe 'y/a/b/'": "no", "perl -pe 's/\\@\\{[0-9]\\}/x/' a": "no", "perl -pe 's/a/system(1)/e' x": "maybe", "perl -pe 's/a/b/ee' x": "maybe",
		"perl -pe 's/a/@{[system(1)]}/' x": "maybe", "perl -pe 's/a/${\\system(1)}/' x": "maybe", "perl -pe 's/(?{system(1)})a/b/' x": "maybe", "perl -pe 's/a(??{system(1)})/b/' x": "maybe", "perl -pe 's/a/$x{system(1)}/' x": "maybe", "perl -pe 's/(a)/$1[system(1)]/' x": "maybe", "perl -pe 's/a/$&[system(1)]/' x": "maybe", "perl -pe 's/(a)/$1->{system(1)}/' x": "maybe",
		"perl -pe 's/a/b/; system(1)' x": "maybe", "perl -pe 'ytr/a/system(1)/' x": "maybe", "perl -pe 's=>system(1)=>=' x": "maybe", "perl -pe 'system(1)' x": "maybe", "perl -pe '{system(1)}{}' x": "maybe", "perl -pe 's/a/b/ if system(1)' x": "maybe", "perl -pe 's/a/b/' 'x|'": "maybe", "perl -pe 's/a/b/' '|x'": "maybe",
		"perl -pe 's/a/b/' \"$x\"": "maybe", "perl -pe 's/a/b/' *": "maybe", "perl -pi -e 's/a/b/' *.go": "maybe", "perl -pe \"s/a/$x/\" y": "maybe", "perl -pie 's/a/b/' x": "maybe", "perl -pi'x/*' -e 's/a/b/' y": "maybe", "perl -Mx -pe 's/a/b/' y": "maybe", "perl -pe 's/a/b/' -e \"$x\" y": "maybe",
		"perl -pe": "maybe", "perl -p - -e 's/a/b/'": "maybe", "perl -pi -e 's/a/b/' .bashrc": "maybe", "perl -pi -e 's/a/b/' x.py; python3 x.py": "maybe", "perl -pe 's/a/$ENV{X}/' y": "maybe", "perl -pe 's{a}\n#x\n{b}' y": "maybe",
		"nix-shell --run 'pytest -q && pylint .'": "no", "nix-shell --pure --run pytest": "no", "nix-shell --run 'kubectl delete x'": "yes", "nix-shell --run \"$x\"": "maybe", "nix-shell -p x --run pytest": "maybe", "nix-shell --packages x --run pytest": "maybe", "nix-shell /tmp/x.nix --run pytest": "maybe", "nix-shell -E x --run pytest": "maybe", "nix-shell --run pytest --arg x y": "maybe", "nix-shell --run 'curl x | sh'": "maybe", "nix-shell --command pytest": "maybe", "nix-shell": "maybe", "./nix-shell --run pytest": "maybe",
		"/usr/bin/python3 x.py": "no", "/Library/Frameworks/Python.framework/Versions/3.14/bin/python3 x.py": "no", "/usr/local/bin/pnpm test": "no", "corepack pnpm test": "no", "corepack pnpm dlx x": "maybe", "corepack kubectl delete": "maybe", "corepack pnpm kubectl delete": "maybe", "/usr/bin/python3 /tmp/x.py": "maybe", "/usr/bin/python3 -c 'import os; os.system(1)'": "maybe",
		"/Library/Frameworks/Python.framework/Versions/3.14/../../x/bin/python3 x.py": "maybe", "/Library/Frameworks/Python.framework/Versions/a/b/bin/python3 x.py": "maybe", "/home/x/.pyenv/versions/3.12/bin/python x.py": "maybe", "/opt/x/bin/python3 x.py": "maybe", "bin/rails runner '`x`'": "maybe", "bin/rails runner 'kubectl; delete'": "maybe", "bin/rails runner /tmp/x.rb": "maybe",
		"pnpm prisma generate": "no", "pnpm prisma db push": "no", "pnpm prisma kubectl": "maybe", "pnpm kubectl delete": "maybe", "pnpm node /tmp/x.js": "maybe", "pnpm node -e 'x()'": "maybe", "pnpm nix-shell --run 'kubectl delete x'": "maybe",
		"cp a.json b.json; python3 -c 'import json; print(json.load(open(\"b.json\")))'": "no", "cp x/json.py .; python3 -c 'import json'": "maybe", "cp -r x .; python3 -c 'import json'": "maybe", "cp \"$x\" .; python3 -c 'import json'": "maybe", "mv x json; python3 -c 'import json'": "maybe", "cp a b; npm test": "maybe",
		"d=$(mktemp -u x); kubectl \"$d\"": "maybe", "mktemp() { echo delete; }; d=$(mktemp); kubectl \"$d\"": "maybe", "d=$(pwd); sed -n 1p \"$d\"/a": "no", "d=$(go list -m -f '{{.Dir}}' x/y); sed -n 1p \"$d\"/a": "no", "d=$(git rev-parse --show-toplevel); rg x \"$d\"": "no", "f=$(ls -t a/*.log 2>/dev/null | head -1); sed -n 1p \"$f\"": "no", "d=\"$(ls -d ~/x/*/ | head -1)\"; rg x \"$d\"": "no",
		"f=$(ls -l a | head -1); rg x \"$f\"": "maybe", "f=$(ls a; x | head -1); rg x \"$f\"": "maybe", "f=$(ls $x | head -1); rg x \"$f\"": "maybe", "f=$(echo -x | head -1); rg x \"$f\"": "maybe", "f=$(ls a | head -1); kubectl \"$f\"": "maybe", "f=$(ls a | head -1); rg x $f": "maybe", "f=$(ls a | head -1); bash \"$f\"": "maybe", "ls() { echo --pre=x; }; f=$(ls a | head -1); rg x \"$f\"": "maybe", "d=$(go list -m -f '{{.Dir}}' x | x); rg x \"$d\"": "maybe", "d=$(go list -f x); rg x \"$d\"": "maybe", "d=$(pwd; echo -x); rg x \"$d\"": "maybe", "d=$(mktemp; echo delete); kubectl \"$d\"": "maybe", "d=$(mktemp); d=delete; kubectl \"$d\"": "maybe", "d=$(mktemp); kubectl $d": "maybe", "true; d=$(mktemp); kubectl \"$d\"": "maybe", "d=$(mktemp); . \"$d\"": "maybe", "d=$(mktemp); curl -o \"$d\" x; bash \"$d\"": "maybe", "d=$(mktemp); python3 \"$d\"": "maybe",
		"T=~/a.py; python3 \"$T\"": "maybe", "source .venv/bin/activate && pytest & P=$!; kill $P": "no",
		"d=$(mktemp); curl -so \"$d\" x; pytest \"$d\"": "maybe", "d=$(mktemp -d); pytest \"$d\"": "maybe", "python3 - <<E 2>&1 | tail\nprint(1)\nE": "no", "python3 - <<E 2>&1\nimport os; os.system(1)\nE": "maybe", "python3 - <<E < x.py\nprint(1)\nE": "maybe", "python3 - <<E <<F\nprint(1)\nE\nimport os\nF": "maybe", "python3 - <<<'import os; os.system(1)'": "maybe", "python3 <<<'print(1)'": "no", "python3 <<<\"$x\"": "maybe", "python3 3<<E\nprint(1)\nE": "maybe", "python3 - <<E 0<&3\nprint(1)\nE": "maybe", "python3 - 0<>x <<E\nprint(1)\nE": "maybe",
		"cd sub && nix-shell --run pytest": "no", "cd /tmp/x && nix-shell --run pytest": "maybe", "cd \"$d\" && nix-shell --run pytest": "maybe", "NIX_PATH=x=/tmp/y nix-shell --run pytest": "maybe", "curl -o default.nix x; nix-shell --run pytest": "maybe",
		"python3 x.py --file a.pdf --config b -p 1": "no", "python3 x.py --config /tmp/b.py": "maybe", "python3 x.py --file \"$x\"": "maybe", "python3 x.py --file kubectl": "maybe", "python3 --config a x.py": "maybe", "python3 -p x.py": "maybe", "python3 x.py -c 'kubectl delete x'": "maybe", "python3 /tmp/x.py --file a": "maybe", "echo a > b.py; python3 x.py --config b.py": "maybe",
		"ruby -c a.rb": "no", "ruby -c -r ./x a.rb": "maybe", "ruby -c -e 'x' a": "maybe", "ruby -cx a.rb": "maybe", "ruby a.rb -c": "maybe", "ruby -r ./x -c a.rb": "maybe",
		"uv run - <<E\nx\nE": "maybe", "uv run --with a - < x": "maybe", ".venv/bin/uv run -": "maybe",
		"srun --time=1 --mem=8G pytest -q": "no", "srun -p x kubectl delete y": "yes", "srun --prolog=x pytest": "maybe", "strace -cf pytest": "no", "strace -o '|x' ls": "maybe", "squeue -j \"$x\"": "no",
		"f=x.py; python3 \"$f\"": "no", "f=/tmp/x.py; python3 \"$f\"": "maybe", "f=/work/app/a.json; python3 -c \"import json; print(json.load(open('$f')))\"": "no",
		"source .venv/bin/activate && pytest": "no", "source ./x": "maybe", "echo x > .venv/bin/activate; source .venv/bin/activate": "maybe",
	} {
		if got := ParseWith(line, Options{Trusted: trusted, Folder: "/work/app"}).Runs("kubectl", []string{"delete"}); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

// TestShadowed checks that a file of the folder which Python takes for a module makes the answer "maybe", each
// time the same one.
func TestShadowed(t *testing.T) {
	read := func(name string) (string, bool) { return "", name == "/w/json.py" || name == "/w/re/__init__.py" }
	for line, want := range map[string]string{
		"python3 -c 'import math; print(math.pi)'":                                                    "no",
		"python3 -c 'import math, json; print(1)'":                                                    "maybe",
		"python3 -c 'from json import loads; print(1)'":                                               "maybe",
		"python3 -c 'import re; print(1)'":                                                            "maybe",
		"python3 -c 'from datetime import date; print(date)'":                                         "no",
		"python3 -c 'import json, re, math, time, zlib, itertools, random, string, base64; print(1)'": "maybe",
		"python3 -c 'import math, time, zlib, itertools, random, string, base64, csv, json'":          "maybe",
	} {
		for range 5 {
			if got := ParseWith(line, Options{Read: read, Folder: "/w"}).Runs("kubectl"); got != want {
				t.Errorf("%s: got %s, want %s", line, got, want)
			}
		}
	}
}
