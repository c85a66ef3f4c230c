import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

const repo = dirname(dirname(import.meta.dirname));
const url = (path: string): string => JSON.stringify(pathToFileURL(join(repo, path)).href);

/** Starts a process that runs `code`, and stops it (SIGSTOP) once it prints something. `thawed` continues it. */
async function frozen(project: Project, code: string): Promise<ChildProcess> {
  const places = JSON.stringify({ home: project.home, configFolder: project.configFolder, waitMs: 10_000 });
  const script = `
    import { writeFileSync } from "node:fs";
    import { openStore } from ${url("src/open.ts")};
    import { FileBlobStore } from ${url("src/storage/files/file-blob-store.ts")};
    import { FileEventLog } from ${url("src/storage/files/file-event-log.ts")};
    const say = (text) => process.stdout.write(text + "\\n");
    const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
    const store = await openStore(${places});
    const workspace = await store.open({ folder: ${JSON.stringify(project.folder)} });
    const file = ${JSON.stringify(project.at("a.txt"))};
    ${code}
    await workspace.close();
    await store.close();
    say("done");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout as NonNullable<typeof child.stdout>, "data");
  child.kill("SIGSTOP");
  return child;
}

async function thawed(child: ChildProcess): Promise<void> {
  const end = once(child, "exit");
  child.kill("SIGCONT");
  expect(await end).toEqual([0, null]);
}

const ACTION = `{ type: "write_file", payload: { path: "a.txt" } }`;

describe("W12 gc beside an action that stands still", () => {
  it("between its contents and its event: gc is refused, and the action goes on afterwards", async () => {
    await using project = new Project();
    project.write("a.txt", "recorded");
    await (await project.init()).close();
    project.write("a.txt", "only just captured, and not in the log yet");
    const child = await frozen(
      project,
      `const append = FileEventLog.prototype.append;
       FileEventLog.prototype.append = async function (events) {
         FileEventLog.prototype.append = append;
         say("captured");
         await sleep(300);
         return append.call(this, events);
       };
       const action = await workspace.snapshotAction(${ACTION});
       writeFileSync(file, "written by the tool");
       await workspace.finishAction(action.id);`,
    );
    const store = await project.store({ waitMs: 300 });
    await expect(store.gc()).rejects.toMatchObject({ code: "LOCKED" });
    await thawed(child);
    await store.gc();
    const workspace = await project.open();
    expect((await workspace.verify()).problems).toEqual([]);
    const [action] = await workspace.list();
    await workspace.rollback(action?.id ?? "");
    expect(project.read("a.txt")).toBe("only just captured, and not in the log yet");
    await workspace.close();
  });

  it("between its beginning and its end: prune and gc keep the contents of its beginning", async () => {
    await using project = new Project();
    project.write("a.txt", "recorded");
    await (await project.init()).close();
    project.write("a.txt", "kept by its beginning");
    const child = await frozen(
      project,
      `const action = await workspace.snapshotAction(${ACTION});
       writeFileSync(file, "written by the tool");
       say("begun");
       await sleep(300);
       await workspace.finishAction(action.id);`,
    );
    const workspace = await project.open();
    expect(await workspace.prune({ keepLast: 0 })).toMatchObject({ pruned_actions: [] });
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    await thawed(child);
    const [action] = await workspace.list();
    await workspace.rollback(action?.id ?? "");
    expect(project.read("a.txt")).toBe("kept by its beginning");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });
});
