import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";

async function project(box: Sandbox): Promise<void> {
  box.write(".gitignore", "*.ig\n");
  box.write("f.ig", "PRECIOUS\n");
  box.write("t", "1\n");
  await box.must(["init"]);
}

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

function run(box: Sandbox, script: string): RunShape {
  const { stderr } = box.run(["--json", "run", "--", "sh", "-c", script]);
  return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as RunShape;
}

describe(
  "Truth: an ignored file that was kept aside, and whose place something else has taken",
  { timeout: 300_000 },
  () => {
    it.each([["ends"], ["is killed"]])("an empty folder gives way to it if the run %s", async (how) => {
      using box = new Sandbox();
      await project(box);
      if (how === "ends") {
        expect(run(box, "rm f.ig; mkdir f.ig").session.omitted_changes).toMatchObject([{ kept: true, lost: false }]);
      } else {
        box.run(["run", "--", "sh", "-c", "rm f.ig; mkdir f.ig; kill -9 $PPID"]);
      }
      await box.must(["undo", "--dry-run"]);
      await box.must(["undo"]);
      expect(read(box, "f.ig")).toBe("PRECIOUS\n");
      await box.must(["redo"]);
      expect(lstatSync(join(box.project, "f.ig")).isDirectory()).toBe(true);
      await box.must(["verify"]);
    });

    it.each([
      ["a pipe", "mkfifo f.ig", "rm f.ig"],
      ["a folder with something in it", "mkdir f.ig; echo x > f.ig/x", "mv f.ig away"],
      ["a file too large to be kept", "head -c 10000000 /dev/zero > f.ig", "rm f.ig"],
    ])("%s stays and is named, and the file comes back once that is moved away", async (_what, made, moved) => {
      using box = new Sandbox();
      await project(box);
      const { session } = run(box, `rm f.ig; ${made}; echo 2 > t`);
      expect(session.omitted_changes).toMatchObject([{ path: "f.ig", kept: true, lost: false }]);
      const dry = await box.call(["undo", "--dry-run"]);
      const left = await box.call(["undo"]);
      for (const { code, stdout } of [dry, left]) {
        expect([code, stdout]).toEqual([1, expect.stringMatching(/! f\.ig .*comes back once that is moved away/)]);
      }
      expect(read(box, "t")).toBe("1\n");
      box.sh(moved);
      await box.must(["undo", session.session_id]);
      expect(read(box, "f.ig")).toBe("PRECIOUS\n");
      await box.must(["verify"]);
    });
  },
);
