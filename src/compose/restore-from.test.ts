import { lstatSync, mkdirSync, readFileSync, readlinkSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../../test/helpers/project.ts";
import { restoreHere } from "../open.ts";
import { givenOfShown } from "../core/text/shown-path.ts";
import type { Source } from "./restore-from.ts";

it("fills a folder with the files of a workspace, including links, modes, odd names and large files", async () => {
  await using project = new Project();
  const more = join(project.base, "more");
  mkdirSync(more);
  project.write("run.sh", "#!/bin/sh\n", 0o755);
  project.write("base64:odd", "odd");
  project.write(Buffer.from([0x66, 0xff]).toString("latin1"), "latin");
  project.write("large.bin", Buffer.alloc(600_000, 7));
  project.link("link", "run.sh");
  const workspace = await project.init({ roots: [project.folder, more] });
  const to = join(project.base, "out");
  const result = await restoreHere(workspace, "latest", { to, keepMtime: true });
  expect(result).toMatchObject({ to, skipped: [], dry_run: false });
  expect(lstatSync(join(to, "run.sh")).mode & 0o777).toBe(0o755);
  expect(readlinkSync(join(to, "link"))).toBe("run.sh");
  expect(readFileSync(join(to, "base64:odd"), "utf8")).toBe("odd");
  expect(readFileSync(join(to, "large.bin")).equals(Buffer.alloc(600_000, 7))).toBe(true);
  expect(readdirSync(to).length).toBeGreaterThanOrEqual(5);
});

it("names in the first root that look like paths of a further root stay names in the first root", async () => {
  await using project = new Project();
  const more = join(project.base, "todo");
  mkdirSync(more);
  writeFileSync(join(more, " fix.md"), "of the further root");
  project.write("@todo: fix.md", "of the first");
  project.write("@a:/b", "in a folder");
  project.write("@-:x", "no root at all");
  const workspace = await project.init({ roots: [project.folder, more] });
  const to = join(project.base, "out");
  expect(await restoreHere(workspace, "latest", { to })).toMatchObject({ skipped: [] });
  expect(readFileSync(join(to, "@todo: fix.md"), "utf8")).toBe("of the first");
  expect(readFileSync(join(to, "@a:/b"), "utf8")).toBe("in a folder");
  expect(readFileSync(join(to, "@-:x"), "utf8")).toBe("no root at all");
  const { files } = await workspace.files();
  for (const file of files.filter(({ kind }) => kind === "file")) {
    expect((await workspace.file(givenOfShown(file))).hash).toBe(file.hash);
  }
  const part = join(project.base, "part");
  await restoreHere(workspace, "latest", { to: part, paths: ["./@todo: fix.md"] });
  expect(readdirSync(part)).toEqual(["@todo: fix.md"]);
});

it("a content that does not have the promised hash is refused and not written, and is skipped with `force`", async () => {
  await using project = new Project();
  project.write("a.txt", "one");
  project.write("large.bin", Buffer.alloc(600_000, 7));
  const workspace = await project.init();
  for (const [name, size] of [
    ["a.txt", 3],
    ["large.bin", 600_000],
  ] as const) {
    const to = join(project.base, `out-of-${name}`);
    async function* other(): AsyncIterable<Uint8Array> {
      yield Buffer.alloc(size, 9);
    }
    const lying: Source = {
      files: (options) => workspace.files(options),
      blob: async (hash) =>
        (await workspace.blob(hash)).size === size ? { size, pieces: other } : workspace.blob(hash),
    };
    await expect(restoreHere(lying, "latest", { to })).rejects.toThrow(name);
    expect(readdirSync(to)).toEqual([]);
    const rest = await restoreHere(lying, "latest", { to, force: true });
    expect(rest.skipped).toMatchObject([{ path: name }]);
  }
});

it("a path that did not exist at the moment is refused with NOT_FOUND", async () => {
  await using project = new Project();
  project.write("a.txt", "one");
  const workspace = await project.init();
  const to = join(project.base, "out");
  await expect(restoreHere(workspace, "latest", { to, paths: ["b.txt"] })).rejects.toMatchObject({ code: "NOT_FOUND" });
});
