import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

describe("a terminal", () => {
  const script = spawnSync("script", ["--version"], { encoding: "utf8" });

  /** Runs a command line on a pseudo terminal and types into it. */
  function onTerminal(box: Sandbox, words: string, typed: string, env: Readonly<Record<string, string>> = {}): string {
    const line = `stty rows 24 cols 80; ${box.command.join(" ")} ${words}`;
    const ran = spawnSync("script", ["-qec", line, "/dev/null"], {
      cwd: box.project,
      env: box.env({ TERM: "xterm", SHELL: "/bin/sh", ...env }),
      input: typed,
      encoding: "utf8",
    });
    return ran.stdout;
  }

  it.skipIf(script.error !== undefined)("restore shows and asks; no changes nothing, --yes does not ask", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    box.write("a", "two");
    const shown = onTerminal(box, "restore 0", "n");
    expect(shown).toContain("Change 1 path");
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
    onTerminal(box, "restore 0", "y");
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
    expect(onTerminal(box, "undo --yes", "")).not.toContain("Take this back");
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two");
  });

  it.skipIf(script.error !== undefined)("has colours; NO_COLOR has none", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    box.write("new", "x");
    expect(onTerminal(box, "status", "")).toContain("\u001b[32m+");
    expect(onTerminal(box, "--no-color status", "")).not.toContain("\u001b[32m");
    expect(onTerminal(box, "status", "", { NO_COLOR: "1" })).not.toContain("\u001b[32m");
  });
});
