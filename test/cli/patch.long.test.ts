import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

const hasGit = spawnSync("git", ["--version"]).status === 0;

/** Lists every file and link of a folder with its name, type, mode, and checksum or target. */
function tree(folder: string): string {
  const script = `umask 022; find . ! -type d -printf '%p %y %m %l ' -exec sh -c 'test -L "$1" || cksum < "$1"; echo' _ {} \\; | sort`;
  return spawnSync("sh", ["-c", script], { cwd: folder, encoding: "latin1" }).stdout;
}

it.skipIf(!hasGit)("a patch of modes, links and odd names is applied by git apply (skipped without git)", async () => {
  using box = new Sandbox();
  box.sh(`umask 022
    echo one > plain; echo tool > tool.sh; chmod 755 tool.sh; echo s > both; echo f > becomes-link
    ln -s plain becomes-file; ln -s plain gone-link; ln -s plain moved-link; echo keep > keep
    printf 'a\\0b' > blob; mkdir -p dir; echo x > dir/x`);
  await box.must(["init"]);
  await box.must(["restore", "0", "--to", "../copy"]);
  box.sh(`umask 022
    chmod 755 plain blob; chmod 644 tool.sh; echo more >> both; chmod 755 both
    rm becomes-link becomes-file gone-link; ln -s keep becomes-link; echo file > becomes-file
    ln -sfn keep moved-link; ln -s dangling/target new-link; printf '#!/bin/sh\\n' > new.sh; chmod 755 new.sh
    echo 1 > 'with space'; echo 2 > 'qu"o\\te'; echo 3 > "$(printf 'line\\nbreak\\ttab')"; echo 4 > "$(printf 'ü\\377')"; : > empty`);
  const { stdout } = await box.must(["diff", "0", "-p"]);
  expect(stdout).toContain("new file mode 120000\n");
  expect(stdout).toContain("old mode 100644\nnew mode 100755\n");
  expect(stdout).toContain('"b/\\303\\274\\377"');
  const applied = spawnSync("git", ["apply", "--whitespace=nowarn", "-"], {
    cwd: join(box.folder, "copy"),
    env: box.env({ GIT_CEILING_DIRECTORIES: box.folder }),
    input: stdout,
    encoding: "utf8",
  });
  expect([applied.status, applied.stderr]).toEqual([0, ""]);
  expect(tree(join(box.folder, "copy"))).toBe(tree(box.project));
  expect(tree(box.project)).toContain("new-link l");
});

it.skipIf(!hasGit)("renamed files are renames in a patch that git apply accepts (skipped without git)", async () => {
  using box = new Sandbox();
  box.sh(
    `umask 022; mkdir src; seq 50 > src/a.ts; seq 100 > 'with space'; printf 'a\\0b' > blob; echo 1 > a; echo x > z`,
  );
  await box.must(["init"]);
  await box.must(["restore", "0", "--to", "../copy"]);
  box.sh(`umask 022
    mkdir lib; mv src/a.ts lib/b.ts; echo more >> lib/b.ts; mv 'with space' "$(printf 'ü\\ttab')"; chmod 755 ü*
    mv blob moved; mv a b; mkdir a; mv b a/inner; rmdir src; echo y > z`);
  const { stdout } = await box.must(["diff", "0", "-p"]);
  expect(stdout.match(/^rename from .*/gm)).toEqual([
    "rename from src/a.ts",
    "rename from blob",
    "rename from with space",
  ]);
  const applied = spawnSync("git", ["apply", "--whitespace=nowarn", "-"], {
    cwd: join(box.folder, "copy"),
    env: box.env({ GIT_CEILING_DIRECTORIES: box.folder }),
    input: stdout,
    encoding: "utf8",
  });
  expect([applied.status, applied.stderr]).toEqual([0, ""]);
  expect(tree(join(box.folder, "copy"))).toBe(tree(box.project));
  expect((await box.must(["diff", "0", "-p", "--no-renames"])).stdout).not.toContain("rename from");
  expect((await box.must(["diff", "0", "--stat"])).stdout).toMatch(/src\/a\.ts → lib\/b\.ts +\+1 +-0/);
  expect((await box.must([])).stdout).not.toContain("gone");
});

it("empty folders, and modes that git does not know, are comments in a patch", async () => {
  using box = new Sandbox();
  box.write("a", "1");
  box.sh("chmod 644 a");
  await box.must(["init"]);
  box.sh("mkdir out; chmod 755 out; chmod 600 a");
  expect((await box.must(["diff", "0", "-p"])).stdout).toBe(
    "# a: permissions changed 0644 → 0600\n# out/: folder created\n",
  );
  expect((await box.must(["diff", "0", "--stat"])).stdout).toContain("permissions changed");
});

it.skipIf(!hasGit)(
  "git apply refuses a patch with a change that a patch cannot express (skipped without git)",
  async () => {
    using box = new Sandbox();
    box.write("text", "one\n");
    box.write("bin", Buffer.from("a\0b"));
    box.write("gone", Buffer.from("a\0c"));
    box.write(".env", "SECRET=1\n");
    box.write("large", Buffer.alloc(5 * 1024 ** 2, "a line of a large text\n"));
    await box.must(["init"]);
    await box.must(["restore", "0", "--to", "../copy"]);
    const copy = join(box.folder, "copy");
    const apply = (input: string) =>
      spawnSync("git", ["apply", "-"], {
        cwd: copy,
        env: box.env({ GIT_CEILING_DIRECTORIES: box.folder }),
        input,
        encoding: "utf8",
      });
    box.write("text", "two\n");
    box.write("bin", Buffer.from("a\0d"));
    box.write("new bin", Buffer.from("a\0e"));
    box.sh("rm gone");
    box.write(".env", "SECRET=2\n");
    box.write("large", Buffer.alloc(5 * 1024 ** 2, "another line of a text\n"));
    const before = tree(copy);
    for (const path of ["bin", "new bin", "gone", ".env", "large"]) {
      const { stdout } = await box.must(["diff", "0", "-p", "--", path, "text"]);
      expect(stdout).toContain(`diff --git a/${path} b/${path}\n`);
      expect(stdout).not.toContain("SECRET");
      const { status, stderr } = apply(stdout);
      expect([path, status, stderr]).toEqual([path, 1, expect.stringContaining("cannot apply binary patch")]);
      expect(tree(copy)).toBe(before);
    }
    expect((await box.must(["diff", "0", "-p", "--", "gone"])).stdout).toBe(
      "diff --git a/gone b/gone\ndeleted file mode 100644\nindex 0000000..0000000\nBinary files a/gone and /dev/null differ\n",
    );
    expect((await box.must(["diff", "0", "-p", "--", ".env"])).stdout).toMatch(
      /^# \.env: modified, a secret by its name: no patch shows it\n/,
    );
    expect(apply((await box.must(["diff", "0", "-p", "--", "text"])).stdout).status).toBe(0);
  },
);

it("a change that does not fit into an answer has a comment and a binary entry; diff -p streams all of it", async () => {
  using box = new Sandbox();
  await box.must(["init"]);
  for (let i = 0; i < 9; i += 1) box.write(`f${i}`, `${"x".repeat(99)}\n`.repeat(41_000));
  await box.must(["snapshot"]);
  const whole = (await box.must(["diff", "0", "1", "-p"])).stdout;
  expect(whole).not.toContain("# ");
  expect(whole.split("\n").filter((line) => line.startsWith("+x"))).toHaveLength(9 * 41_000);
  const { stdout } = await box.must(["changes", "--since", "0", "-p"]);
  expect(stdout.slice(stdout.indexOf("# "))).toBe(
    "# f8: created, left out: the earlier patches fill the answer; ask for this path alone\n" +
      "diff --git a/f8 b/f8\nnew file mode 100644\nindex 0000000..0000000\nBinary files /dev/null and b/f8 differ\n",
  );
  expect((await box.must(["diff", "0", "1", "--stat"])).stdout).toMatch(/f8 +not counted\n/);
});
