import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { quoteCommand, quotePath } from "./quote-command.ts";

it.each([
  [["echo", "a"], "echo a"],
  [["echo", "A=b"], "echo A=b"],
  [["A=b"], "'A=b'"],
  [["A=b", "C=d"], "'A=b' C=d"],
  [["it's", ""], "'it'\\''s' ''"],
])("%j is shown as %s", (argv, shown) => {
  expect(quoteCommand(argv)).toBe(shown);
});

it.each([[["A=b", "x"]], [["A+=b"]], [["a b", "$c", "'", "*", "~"]]])(
  "a shell reads the quoted %j as the same words",
  (argv) => {
    const folder = mkdtempSync(join(tmpdir(), "chronicle-quote-"));
    const [name = ""] = argv;
    writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "\${0##*/}" "$@"\n`, { mode: 0o755 });
    const shell = execFileSync("/bin/sh", ["-c", quoteCommand(argv)], { env: { PATH: folder }, encoding: "utf8" });
    expect(shell).toBe(argv.map((word) => `${word}\n`).join(""));
    rmSync(folder, { recursive: true });
  },
);

it("a path that begins with a dash is shown so that it cannot be an option", () => {
  expect(quotePath("-rf")).toBe("./-rf");
});
