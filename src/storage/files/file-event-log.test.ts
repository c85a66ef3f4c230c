import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { eventLogSuite } from "../../testing/event-log-suite.ts";
import { FileEventLog } from "./file-event-log.ts";
import { storeLayout, type WorkspaceLayout } from "./layout.ts";

let home = "";
let count = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "chronicle-log-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const disk = new NodeDisk();
function freshPaths(): WorkspaceLayout {
  const paths = storeLayout(home).workspace(`w${(count += 1)}`);
  mkdirSync(paths.folder, { recursive: true });
  return paths;
}

eventLogSuite("FileEventLog", () => {
  const paths = freshPaths();
  return {
    open: () => new FileEventLog(disk, paths),
    tear: (bytes) => appendFileSync(paths.log, bytes),
    quarantined: (name) => readFileSync(join(paths.quarantine, name)),
  };
});
