import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { inMountSpace } from "../helpers/trouble.ts";
import { Project } from "../helpers/project.ts";

const isRoot = process.getuid?.() === 0;

describe("Truth 10: a path that is left out is not said to be kept", () => {
  it("explain says that a file is too large, or over the limit of entries", async () => {
    using box = new Sandbox();
    box.write("small", "x");
    box.write("grows", "x");
    box.write("sub/in", "x");
    await box.must(["init", "--max-file-size", "1KiB", "--max-entries", "4"]);
    for (const path of ["large", "grows"]) box.write(path, "x".repeat(2_000));
    box.write("sub/more", "x");
    const omitted = { reason: "too-large", detail: "2000 bytes; the limit is 1024" };
    const explained = await box.json(["explain", "large", "grows", "small", "sub", "sub/more", "sub/in"]);
    expect(explained.value).toMatchObject([
      { path: "large", tracked: false, recorded: false, omitted },
      { path: "grows", tracked: true, recorded: true, omitted },
      { path: "small", tracked: true },
      { path: "sub", tracked: true },
      { path: "sub/more", tracked: false, omitted: { reason: "over-limit" } },
      { path: "sub/in", tracked: true },
    ]);
    const { stdout } = await box.must(["explain", "large", "grows", "small"]);
    expect(stdout).toBe(
      "large: not tracked: too-large (2000 bytes; the limit is 1024)\n" +
        "grows: not tracked as it is now: too-large (2000 bytes; the limit is 1024); what was recorded before is kept\n" +
        "small: tracked: nothing leaves it out\n",
    );
  });

  it("a file that was left out is not listed as backed up", async () => {
    await using project = new Project();
    project.write("grows", "x");
    project.write("kept", "x");
    const workspace = await project.init({ maxFileSize: 1_024 });
    writeFileSync(project.at("grows"), "x".repeat(2_000));
    writeFileSync(project.at("large"), "x".repeat(2_000));
    const paths = ["grows", "kept", "large", "absent"];
    const action = await workspace.snapshotAction({ type: "write_file", payload: { paths }, onFailure: "warn" });
    expect(action?.files_backed_up).toEqual(["absent", "kept"]);
    expect(action?.coverage.omitted.map((one) => one.path)).toEqual(["grows", "large"]);
  });

  it("an action on a file over the limit of entries is refused; with a warning only, the coverage lists the folder", async () => {
    await using project = new Project();
    for (const name of ["a", "sub/b"]) project.write(name, "x");
    const workspace = await project.init({ maxEntries: 3 });
    project.write("sub/more", "x");
    const request = { type: "write_file", payload: { path: "sub/more" } };
    await expect(workspace.snapshotAction(request)).rejects.toMatchObject({ code: "REFUSED" });
    const action = await workspace.snapshotAction({ ...request, onFailure: "warn" });
    expect(action?.files_backed_up).toEqual([]);
    expect(action?.coverage).toMatchObject({ complete: false, omitted: [{ path: "sub", reason: "over-limit" }] });
  });

  it.skipIf(!isRoot)("explain says that a file or a folder cannot be read", () => {
    const base = mkdtempSync(join(tmpdir(), "chronicle-left-out-"));
    try {
      inMountSpace(
        `
        mkdir -p p/locked && echo x > p/locked/in && echo x > p/open
        chronicle -C p init
        echo x > p/secret
        chmod 000 p/secret p/locked
        chronicle -C p explain --json secret locked locked/in open > explained.json
        chmod 755 p/locked
      `,
        { folder: base, user: 65_534 },
      );
      const explained = JSON.parse(readFileSync(join(base, "explained.json"), "utf8")) as unknown;
      const omitted = { reason: "unreadable", detail: "EACCES" };
      expect(explained).toMatchObject([
        { path: "secret", tracked: false, recorded: false, omitted },
        { path: "locked", tracked: true, recorded: true, omitted },
        { path: "locked/in", tracked: true, recorded: true, omitted },
        { path: "open", tracked: true },
      ]);
    } finally {
      rmSync(base, { recursive: true, force: true });
    }
  });
});
