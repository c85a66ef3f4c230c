import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_SHELL_LINE } from "./shell-words.ts";
import { shellPaths } from "./shell-paths.ts";
import { processorTime } from "../../testing/processor-time.ts";

/**
 * Returns the paths of a line that runs in /w with the home /home/u. `/**` at the end of a path means that everything
 * beneath the path is meant, too.
 */
function paths(line: string): string {
  const found = shellPaths(line, { cwd: "/w", home: "/home/u" });
  return found.map(({ path, deep }) => (deep ? `${path}/**` : path)).join(" ");
}

describe("what a shell line will probably touch", () => {
  const cases: readonly (readonly [line: string, expected: string])[] = [
    ["rm a b", "/w/a /w/b"],
    ["rm -rf build /tmp/x", "/w/build/** /tmp/x/**"],
    ["rm -f -- -x", "/w/-x"],
    ["rmdir d; unlink f", "/w/d /w/f"],
    ["rm 'a b' \"c d\" e\\ f", "/w/a b /w/c d /w/e f"],
    ["rm '*.o' \"q?\"", "/w/*.o /w/q?"],
    ["rm /tmp/x/*.o", "/tmp/x/**"],
    ["rm *.o", "/w/**"],
    ["rm /*", ""],
    ["rm -rf /", ""],
    ["rm {a,b}", "/w/**"],
    ["rm ~/.bashrc $HOME/x ${HOME}/y \"$HOME/z\" '$HOME'", "/home/u/.bashrc /home/u/x /home/u/y /home/u/z /w/$HOME"],
    ["rm $X/foo ${Y}/b $(ls) `ls` ~root/x", ""],
    ["cd /etc && rm a", "/etc/a"],
    ["cd sub; rm a; cd ..; rm b", "/w/sub/a /w/b"],
    ["(cd /usr; touch c); rm d", "/usr/c /w/d"],
    ["cd $X && rm a /b", "/b"],
    ["cd && rm a", "/home/u/a"],
    ["cd - && rm a", ""],
    ["mv a b", "/w/a/** /w/b /w/b/a/**"],
    ["mv a b /tmp/d", "/w/a/** /w/b/** /tmp/d /tmp/d/a/** /tmp/d/b/**"],
    ["mv -t /tmp/d a", "/w/a/** /tmp/d /tmp/d/a/**"],
    ["cp a /etc/hosts", "/etc/hosts /etc/hosts/a"],
    ["cp -r src /tmp/dst", "/tmp/dst /tmp/dst/src/**"],
    ["install -m 755 x /usr/local/bin", "/usr/local/bin /usr/local/bin/x"],
    ["install -d /opt/a", "/opt/a"],
    ["ln -s /a/b", "/w/b"],
    ["ln -sf /a/b /usr/bin/b", "/usr/bin/b /usr/bin/b/b"],
    ["touch -d yesterday f; mkdir -p -m 700 a/b; truncate -s 0 log", "/w/f /w/a/b /w/log"],
    ["tee -a one two < in", "/w/one /w/two"],
    ["dd if=/dev/zero of=/tmp/disk bs=1M", "/tmp/disk"],
    ["sed -i 's/a/b/' f g", "/w/f /w/g"],
    ["sed -i.bak -e s/a/b/ f", "/w/f"],
    ["sed --in-place=.bak s/a/b/ f", "/w/f"],
    ["sed -ne p f", ""],
    ["sed s/a/b/ f > g", "/w/g"],
    ["perl -pi -e 's/a/b/' f", "/w/f"],
    ["perl -pie 's/a/b/' f", "/w/f"],
    ["perl script.pl f", ""],
    ["echo x > a >> b >| c 2> d &> e &>> f 2>&1 >/dev/null <> g", "/w/a /w/b /w/c /w/d /w/e /w/f /w/g"],
    ["echo 2 >f", "/w/f"],
    ["cat <<< word > h < in", "/w/h"],
    ["cat > a <<EOF\nrm no > never\nEOF\nrm yes", "/w/a /w/yes"],
    ["cat <<-'END' > a\n\trm no\n\tEND\nrm yes", "/w/a /w/yes"],
    ["chmod 600 k; chmod +x s; chmod -x t; chown -R u:g d", "/w/k /w/s /w/t /w/d/**"],
    ["chmod --reference=a b", "/w/b"],
    ["git reset --hard && git clean -fd; git checkout -- a; git stash", ""],
    ["git clean -fdx; git -C sub stash --all", "/w/** /w/sub/**"],
    ['rm -rf "$PWD"/a ${PWD}/b; (cd x; rm $PWD/c)', ""],
    ['rm -rf "$PWD"/a ${PWD}/b', "/w/a/** /w/b/**"],
    ["rsync -a --delete empty/ build/; rsync -a x host:/y; rsync only", "/w/build/**"],
    ["git -c a.b=c clean -Xf -- build", "/w/build/**"],
    ["find /var/x -name '*.o' -delete", "/var/x/**"],
    ["find . -type f -exec rm {} +", "/w/**"],
    ["find . -name x", ""],
    ["find src -name x -fprintf .env %p -fls ../b; find a -fprint0 c -delete", "/w/.env /b /w/a/** /w/c/**"],
    ["find /usr/include -name '*.h' -exec grep foo {} +", ""],
    ["find /opt -exec sed s/a/b/ {} \\; -exec sed -i s/a/b/ {} \\;", "/opt/**"],
    ["ls | xargs -n 1 rm -rf keep", "/w/keep/**"],
    ["sudo -u root rm a; env -i A=b rm c; X=1 Y=2 rm d; nohup rm e &", "/w/a /w/c /w/d /w/e"],
    ["timeout -s KILL 5 rm a", "/w/a"],
    ["timeout --signal KILL 5 rm a; timeout --signal=KILL -k 1 5 rm b", "/w/a /w/b"],
    ["stdbuf -o L rm a; exec -a n rm b; env --unset V rm c; sudo -nu me rm d", "/w/a /w/b /w/c /w/d"],
    ["if a; then rm b; elif rm c; then rm d; fi", "/w/b /w/c /w/d"],
    ["env -S 'A=b rm a' b; ls | xargs -0n 1 rm -f c", "/w/a /w/b /w/c"],
    ["bash -lc 'rm -rf /tmp/q; cd x; rm y'; rm z", "/tmp/q/** /w/x/y /w/z"],
    ["sh -c \"sh -c 'rm deep'\"", ""],
    ["eval 'rm a'", "/w/a"],
    ["if true; then rm a; else rm b; fi; while x; do rm c; done; { rm d; }", "/w/a /w/b /w/c /w/d"],
    ["! rm a || rm b && rm c | rm d", "/w/a /w/b /w/c /w/d"],
    ["/bin/rm a", "/w/a"],
    ["curl -o out https://x; wget -O /tmp/p y", "/w/out /tmp/p"],
    ["wget -qO .env u; curl -sSLo .env u; curl -o.env u; wget -O .env u", "/w/.env"],
    ["wget --output-document=a -o b u; curl -o c u -o d v -D e -cf", "/w/b /w/a /w/c /w/d /w/e /w/f"],
    ["curl -dfoo=1 -uroot:x -XPOST -Hfoo:o u; wget -qO- u; curl -o - u", ""],
    ["sort -o.env a; sort -nro b -k2 a; sort -to -ko a", "/w/.env /w/b"],
    ["cp -t. a/.env", "/w /w/.env"],
    ["cp -rt. a; cp --archive b .", "/w /w/a/** /w/b/**"],
    ["cp -tother a; mv -t/tmp/d b", "/w/other /w/other/a /w/b/** /tmp/d /tmp/d/b/**"],
    ["install -Dm755 x -t bin; install -Dm 755 y z", "/w/bin /w/bin/x /w/z /w/z/y"],
    ["mkdir -pm 700 a; touch -amd now b; truncate -s0 c; shred -un 3 d", "/w/a /w/b /w/c /w/d"],
    ["sed -Ei s/a/b/ f; sed -i.extra s/a/b/ g; sed -E -i.bak -e p h; sed -Enip i", "/w/f /w/g /w/h"],
    ["perl -i.orig -pe p f; perl -0777pi -e p g", "/w/f /w/g"],
    ["chmod -w,g+x a; chmod 600 -- -x; chmod -Rv -x d", "/w/a /w/-x /w/d/**"],
    ["git --git-dir X clean -fdx", "/w/**"],
    ["git -C a -C b clean -fdxe keep; git --git-dir=X --work-tree t clean -fX", "/w/a/b/** /w/** /w/t/**"],
    ["rsync -ae ssh x build/; rsync -ae ssh x h:/y", "/w/build/**"],
    ["sudo -u$U rm a; nice -n$N rm b; ls | xargs -n$N rm c; curl -o$X -oe u", "/w/a /w/b /w/c /w/e"],
    ["env -iC sub rm a; sudo -nD /x sh -c 'rm b'; env --chdir=y -uA -C z rm c", "/w/sub/a /x/b /w/y/z/c"],
    ["rm a # rm b\nrm c", "/w/a /w/c"],
    ["rm a\\\nb", "/w/ab"],
    ["make && \\\n  rm /tmp/out.txt", "/tmp/out.txt"],
    ["cp -r src \\\n  dst \\\n", "/w/dst /w/dst/src/**"],
    ["mv a \\\n\t~/b; echo > \\\n  c", "/w/a/** /home/u/b /home/u/b/a/** /w/c"],
    ["rm \\\n# a comment", ""],
    ["cp a ''; mv b ''", "/w/b/**"],
    ["rm /proc/1/x /sys/y /dev/sda", ""],
    ["rm ../../etc/passwd", "/etc/passwd"],
    ['rm "unbalanced', ""],
    ["rm 'unbalanced", ""],
    ["echo $(rm a", ""],
    ["", ""],
    ["npm test", ""],
    ["rm $'a\\x62'; > ${HOME:-x}/c", "/w/ab /home/u/c"],
  ];
  test.each(cases)("%s", (line, expected) => {
    expect(paths(line)).toBe(expected);
  });
});

test.each([
  ["rm -rf *", [{ names: "*", deep: true }]],
  [
    "rm .env* ./*.log",
    [
      { names: ".env*", deep: false },
      { names: "*.log", deep: false },
    ],
  ],
  ["rm -rf */out .", [{ names: "*", deep: true }, { deep: true }]],
  ['rm -rf "$PWD"/*', [{ names: "*", deep: true }]],
  ["rsync -a --delete empty/ ./", [{ deep: true }]],
  ["rsync -a new/ .", undefined],
  ["git clean -fdx", [{ deep: true, spares: ".git" }]],
  ["find . -type f -delete", [{ deep: true }]],
  ["find . -not -path './.git/*' -delete", [{ deep: true, spares: ".git" }]],
  ["find . -name '*.pyc' -delete; chown -R me .", undefined],
] as const)("the names that %s removes in the working folder", (line, expected) => {
  expect(shellPaths(line, { cwd: "/w" }).find((one) => one.path === "/w")?.sweeps).toEqual(expected);
});

test("after a cd to an unknown folder, a cd to an absolute path makes the folder known again", () => {
  expect(paths("cd $X; cd /a; rm b")).toBe("/a/b");
});

test("shellPaths never throws, and all its paths are absolute and normalised", () => {
  const words = fc.constantFrom(
    ..."rm mv cp -rf -- ; && | ( ) { } > >> < << <<< $ $( ${ ' \" ` \\ \n # * ? [ ~ / .. . a b/c /etc cd sed -i -e dd of= find -delete sh -c eval sudo = & 2>&1 <<EOF EOF".split(
      " ",
    ),
    " ",
    "\t",
    "\0",
    "\ud800",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.string())), (parts) => {
      for (const { path } of shellPaths(parts.join(" "), { cwd: "/w", home: "/home/u" })) {
        expect(path.startsWith("/")).toBe(true);
        expect(path.split("/").some((part) => part === "." || part === "..")).toBe(false);
      }
      shellPaths(parts.join(""), { cwd: "/w" });
    }),
    { numRuns: 500 },
  );
});

test.each([
  "rm a;",
  "$(",
  "${",
  "'",
  '"',
  "`",
  "\\",
  "(",
  "<<EOF\n",
  "mv a ",
  "rm *",
  "sh -c '",
  "$'",
  "> a ",
  "cd b;",
  "\\\n",
  "> \\\n",
  "curl -oa ",
])("a line that repeats %j up to the longest length is read in less than a second", (piece) => {
  const line = piece.repeat(MAX_SHELL_LINE);
  const spent = processorTime();
  shellPaths(line, { cwd: "/w" });
  expect(spent()).toBeLessThan(1_000);
});
