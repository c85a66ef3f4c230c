import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { holding } from "../helpers/holding.ts";

/**
 * A file that is said to be kept aside is in the store, and undo does not overwrite or remove a file that is not kept.
 */

const DAY = 24 * 60;

async function begun(): Promise<{ project: ClockedProject; at: (name: string) => string }> {
  const project = new ClockedProject();
  project.write(".gitignore", ".env\n*.log\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  return { project, at: (name) => join(project.folder, name) };
}

test("undo and redo bring back both contents of a file that has grown in a run", async () => {
  const { project, at } = await begun();
  await using _ = project;
  const small = randomBytes(900_000);
  writeFileSync(at("app.log"), small);
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "head -c 400000 /dev/urandom >> app.log"] });
  const grown = readFileSync(at("app.log"));
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  await workspace.undo();
  expect(readFileSync(at("app.log"))).toEqual(small);
  await workspace.redo();
  expect(readFileSync(at("app.log"))).toEqual(grown);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a large file that a run has made and its own rule hides is named, and undo leaves it", async () => {
  const { project, at } = await begun();
  await using _ = project;
  const workspace = await project.init();
  const made = "echo '*.sqlite' >> .gitignore; head -c 5000000 /dev/urandom > dev.sqlite";
  const { session } = await workspace.run({ command: ["sh", "-c", made] });
  expect(session.omitted_changes).toMatchObject([{ path: "dev.sqlite", change_type: "created", kept: false }]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  await workspace.undo();
  expect([project.read(".gitignore"), existsSync(at("dev.sqlite"))]).toEqual([".env\n*.log\n", true]);
});

test("undo leaves a file with an erased content that a run has made", async () => {
  const { project, at } = await begun();
  await using _ = project;
  const secret = randomBytes(500);
  writeFileSync(at("token"), secret);
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "cp token /tmp/$$; rm token; mv /tmp/$$ copied.log"] });
  await workspace.erase({ what: "token" });
  await workspace.run({ command: ["sh", "-c", "mv copied.log again; echo two > work"] });
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  await workspace.undo();
  expect([existsSync(at("work")), readFileSync(at("again"))]).toEqual([false, secret]);
});

/** Does `between` while a run waits for the file `go`. Then the run removes `.env`. */
async function whileItRuns(between: (project: ClockedProject) => Promise<void>) {
  const { project, at } = await begun();
  const secret = randomBytes(2_000);
  writeFileSync(at(".env"), secret);
  project.write("other.log", "what else was there\n");
  const workspace = await project.init();
  const command = ["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; rm .env go; echo two > work"];
  let started: () => void = () => undefined;
  const isUp = new Promise<void>((resolve) => (started = resolve));
  const run = workspace.run({ command, onStart: () => started() });
  await isUp;
  await between(project);
  project.write("go", "");
  return { project, at, secret, workspace, told: await run };
}

test("a file that was erased during a run does not come back with undo, and its bytes leave the store", async () => {
  const { project, at, secret, workspace } = await whileItRuns(async (on) => {
    await using other = await on.open();
    await other.erase({ what: ".env" });
  });
  await using _ = project;
  await workspace.undo();
  expect([existsSync(at("work")), existsSync(at(".env"))]).toEqual([false, false]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
  project.pass(DAY + 1);
  await workspace.gc();
  expect(holding(join(project.base, "store"), secret)).toEqual([]);
});

test("a file whose kept content was freed during a run is reported as lost", async () => {
  const { project, workspace, told } = await whileItRuns(async (on) => {
    on.pass(8 * DAY);
    await using other = await on.open();
    await other.gc();
  });
  await using _ = project;
  expect(told.session.omitted_changes).toMatchObject([
    { path: ".env", change_type: "deleted", kept: false, lost: true },
  ]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
