import type { WorkspacePath } from "../../core/values/path.ts";
import { outsideFilesSuite, type OutsideHarness } from "../../testing/outside-files-suite.ts";
import { MemoryFiles } from "./memory-files.ts";
import { MemoryOutsideFiles } from "./memory-outside-files.ts";

const at = (absolute: string): WorkspacePath => absolute.slice(1) as WorkspacePath;

outsideFilesSuite("MemoryOutsideFiles", (limits): OutsideHarness => {
  let now = 1_700_000_000_000;
  const files = new MemoryFiles(() => (now += 1));
  for (const folder of ["base/store", "base/ws"]) files.makeFolder(folder as WorkspacePath);
  return {
    base: "/base",
    outside: new MemoryOutsideFiles({ files, own: ["/base/store"], roots: ["/base/ws"], limits }),
    edit: {
      write: (path, content) => files.write(at(path), content),
      makeFolder: (path) => files.makeFolder(at(path)),
      symlink: (target, path) => files.symlink(target, at(path)),
      chmod: (path, mode) => files.chmod(at(path), mode),
      remove: (path) => files.remove(at(path)),
      read: (path) => files.read(at(path))?.toString() ?? "",
      modeOf: (path) => files.get(at(path))?.stat.mode ?? 0,
      list: (path) =>
        files
          .beneath(at(path))
          .map((one) => one.slice(path.length))
          .filter((name) => !name.includes("/")),
    },
    dispose: () => {},
  };
});
