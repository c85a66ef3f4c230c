import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

interface Shape {
  readonly changes: readonly { readonly path: string }[];
  readonly session: {
    readonly omitted_changes?: readonly {
      readonly path: string;
      readonly change_type: string;
      readonly kept: boolean;
    }[];
  };
}

function run(box: Sandbox, script: string): { code: number | null; shape: Shape } {
  const { code, stderr } = box.run(["--json", "run", "--", "sh", "-c", script]);
  return { code, shape: JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Shape };
}

describe("Truth 7: what rules hide that came to be in the same run", () => {
  test("a rule that hides itself is recorded, what else it hides is named, and undo removes both", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    box.run(["init"]);
    const { code, shape } = run(box, "echo '*' > .gitignore; echo x > planted; mkdir -p out; echo y > out/made");
    expect(code).toBe(0);
    expect(shape.changes.map(({ path }) => path)).toEqual([".gitignore"]);
    expect(shape.session.omitted_changes).toMatchObject([
      { path: "out", change_type: "created", kept: false },
      { path: "planted", change_type: "created", kept: true },
    ]);
    await box.must(["undo"]);
    expect([existsSync(join(box.project, ".gitignore")), existsSync(join(box.project, "planted"))]).toEqual([
      false,
      false,
    ]);
    await box.must(["redo"]);
    expect([existsSync(join(box.project, ".gitignore")), existsSync(join(box.project, "planted"))]).toEqual([
      true,
      true,
    ]);
    await box.must(["verify"]);
  });

  test("in a folder of its own, and in words", async () => {
    using box = new Sandbox();
    box.write("a", "a");
    box.run(["init"]);
    const ran = box.run(["run", "--", "sh", "-c", "mkdir d; echo '*' > d/.gitignore; echo x > d/planted"]);
    expect(ran.stderr).toContain("2 changes");
    expect(ran.stderr).toContain("1 path that the rules leave out was created under rules of its own");
    expect(ran.stderr).toContain("d/planted");
    await box.must(["undo"]);
    expect(existsSync(join(box.project, "d"))).toBe(false);
  });

  test("what rules from before leave out is no news", () => {
    using box = new Sandbox();
    box.write(".gitignore", "out/\n*.o\n");
    box.run(["init"]);
    const { shape } = run(box, "mkdir out; echo x > out/x; echo x > x.o; echo '*.o' >> .gitignore");
    expect(shape.changes.map(({ path }) => path)).toEqual([".gitignore"]);
    expect(shape.session.omitted_changes).toBeUndefined();
  });
});
