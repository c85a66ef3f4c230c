import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, test } from "vitest";
import { Origins } from "../../src/compose/origins.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import type { OriginOptions } from "../../src/replication/origin/origin-session.ts";
import type { ReplicaOptions } from "../../src/replication/replica/replica-session.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";
import { pushAll } from "../helpers/pushed.ts";
import { storeParts } from "../helpers/store-parts.ts";

/**
 * Secrets by name are not sent to a replica that has not asked for them with a person's token. Each side keeps its own.
 */

const SECRET = "TOKEN=s3cr3t-of-this-test\n";
const LATER = "TOKEN=s3cr3t-of-this-test-later\n";
const ORDINARY = "ordinary\n";
const OUTSIDE = { ".npmrc": "login of somebody\n", "notes.txt": "notes outside\n" };

/** Lets a replica take everything of a folder with secrets. Returns which of the contents it holds in the end. */
async function taken(
  origin: Partial<OriginOptions>,
  options: Partial<ReplicaOptions>,
): Promise<Record<string, boolean>> {
  await using project = new Project();
  project.write(".env", SECRET);
  project.write("deep/id_rsa", `${SECRET}key`);
  project.write("large.pem", SECRET.repeat(20_000));
  project.write("a.txt", ORDINARY);
  for (let n = 0; n < 40; n += 1) project.write(`many/${n}`, `ordinary ${n}`);
  const workspace = await project.init();
  await workspace.configure({ protectedNames: ["mine.txt"] });
  project.write(".env", LATER);
  project.write("mine.txt", "by the person's word");
  await workspace.snapshot();
  // The state of a path outside of the workspace is recorded, too, before a tool changes it.
  for (const [name, content] of Object.entries(OUTSIDE)) {
    const path = join(project.base, name);
    writeFileSync(path, content);
    await workspace.action({ type: "write_file", payload: { path } }, () => undefined);
  }
  const { id } = workspace;
  await workspace.close();
  const here = await storeParts(project.home, project.configFolder);
  await using elsewhere = new Project();
  const copy = await elsewhere.init();
  const replica = copy.id;
  await copy.close();
  const there = await storeParts(elsewhere.home, elsewhere.configFolder);
  const wanted: Record<string, string> = {
    secret: SECRET,
    key: `${SECRET}key`,
    large: SECRET.repeat(20_000),
    later: LATER,
    named: "by the person's word",
    ordinary: ORDINARY,
    many: "ordinary 39",
    login: OUTSIDE[".npmrc"],
    notes: OUTSIDE["notes.txt"],
  };
  let held: Record<string, boolean> = {};
  const { ends } = await pushAll({ here, id, there, replica, origin, options }, async (hold) => {
    const hashes = Object.values(wanted).map((one) => sha256(one));
    const found = await hold.options.blobs.has(hashes);
    held = Object.fromEntries(Object.entries(wanted).map(([name, one]) => [name, found.has(sha256(one))]));
  });
  for (const end of ends) if (end.error !== undefined) throw end.error;
  return held;
}

const NONE = {
  secret: false,
  key: false,
  large: false,
  later: false,
  named: false,
  ordinary: true,
  many: true,
  // Contents of outside records stay on their machine.
  login: false,
  notes: false,
};
const ALL = {
  secret: true,
  key: true,
  large: true,
  later: true,
  named: true,
  ordinary: true,
  many: true,
  login: false,
  notes: false,
};

describe("Truth 21: what an origin gives to replicas", () => {
  test.each<readonly [string, Partial<OriginOptions>]>([
    ["many at once, as blocks", {}],
    ["one by one", { blocks: undefined as never }],
    ["with a person's token, but not asked for", { mayHaveSecrets: true }],
  ])("a replica gets no secret: %s", async (_name, origin) => {
    expect(await taken(origin, {})).toEqual(NONE);
  });

  test("a person's replica that asks for secrets gets them", async () => {
    expect(await taken({ mayHaveSecrets: true }, { withProtected: true })).toEqual(ALL);
  });

  test("another replica that asks for secrets gets nothing at all", async () => {
    await expect(taken({ mayHaveSecrets: false }, { withProtected: true })).rejects.toThrow("the connection ended");
  });
});

test("Truth 21: no secret is sent along with an event while its commit is not finished", async () => {
  await using project = new Project();
  await using elsewhere = new Project();
  project.write("a.txt", "a");
  const store = await project.store();
  const { workspace } = await store.init({ roots: [project.folder] });
  const copy = await elsewhere.init();
  const replica = copy.id;
  await copy.close();
  const there = await storeParts(elsewhere.home, elsewhere.configFolder);
  await pushAll({ here: partsOf(store), id: workspace.id, there, replica }, async ({ options }) => {
    const has = async (content: string) => (await options.blobs.has([sha256(content)])).size > 0;
    for (const [n, secret] of [SECRET, LATER].entries()) {
      await workspace.putFile(".env", Buffer.from(secret));
      await workspace.putFile("b.txt", Buffer.from(`ordinary ${n}`));
      await expect.poll(() => has(`ordinary ${n}`), { timeout: 60_000 }).toBe(true);
      expect(await has(secret)).toBe(false);
    }
  });
});

test("Truth 21: a replica that names a secret's hash in a change must send the secret", async () => {
  await using project = new Project();
  project.write(".env", SECRET);
  project.write("a.txt", ORDINARY);
  const workspace = await project.init();
  const { id } = workspace;
  await workspace.close();
  const here = await storeParts(project.home, project.configFolder);
  {
    await using origins = new Origins(here);
    using lease = await origins.lease(id);
    const received = lease.options.writeBack?.received;
    expect(await received?.has([sha256(SECRET), sha256(ORDINARY)])).toEqual(new Set([sha256(ORDINARY)]));
    // The same holds after somebody who has the secret has sent it.
    received?.add(sha256(SECRET));
    expect(await received?.has([sha256(SECRET)])).toEqual(new Set());
  }
  await here.blobs.close();
});

test("Truth 21: a replica names the secrets that it does not have", async () => {
  using desk = new Sandbox();
  await using origin = new Project();
  origin.write(".env", SECRET);
  origin.write("a.txt", "a");
  const there = await origin.init();
  writeFileSync(join(origin.base, "notes.txt"), "notes outside\n");
  const payload = { path: join(origin.base, "notes.txt") };
  await there.action({ type: "write_file", payload }, () => undefined);
  desk.write("own.txt", "own");
  await desk.must(["init"]);
  const replica = ((await desk.json(["status"])).value as { workspace: string }).workspace;
  const here = await storeParts(origin.home, origin.configFolder);
  const copy = await storeParts(desk.store, join(desk.folder, "config", "chronicle"));
  await pushAll({ here, id: there.id, there: copy, replica });
  for (const { blobs } of [here, copy]) await blobs.close();
  expect((await desk.must(["status", "--upstream"])).stdout).toContain("1 file by name (.env)");
  const refused = await desk.call(["cat", ".env", "--upstream"]);
  expect(refused.stderr).toContain("is at the origin only");
  expect(refused.stderr).toContain("--with-protected");
  expect((await desk.must(["cat", "a.txt", "--upstream"])).stdout).toBe("a");
  expect((await desk.call(["verify", "--upstream"])).code).toBe(0);
});

let rig: FolderRig;
afterEach(() => rig?.close());

async function following(settings: FolderRig["desk"]["settings"], begin: Readonly<Record<string, string>>) {
  rig = new FolderRig();
  rig.desk.settings = settings;
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(begin)) await rig.during(rig.host.write(path, content));
  await rig.during(rig.desk.start());
  await rig.flush();
  return rig;
}

describe("Truth 21: a folder that follows", () => {
  it("has no secrets of the origin, gives none, and is in sync", async () => {
    const { desk, host } = await following({}, { ".env": SECRET, "a.txt": "a", "deep/server.key": SECRET });
    expect(desk.tree()).toEqual({ "a.txt": "a", "deep/": "" });
    desk.edit(".env", "TOKEN=of the desk\n");
    desk.edit("b.txt", "b");
    await rig.flush();
    await rig.during(host.write(".env", LATER));
    await rig.flush();
    expect(desk.tree()).toMatchObject({ ".env": "TOKEN=of the desk\n", "b.txt": "b" });
    expect(await rig.during(host.tree())).toMatchObject({ ".env": LATER, "b.txt": "b", "deep/server.key": SECRET });
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", conflicts: 0, pending: 0 });
    expect(desk.sync.shape.with_protected).toBeUndefined();
  });

  it("does not delete the other side's secrets", async () => {
    const { desk, host } = await following({}, { ".env": SECRET, "a.txt": "a" });
    desk.edit(".env", "TOKEN=of the desk\n");
    await rig.flush();
    await rig.during(host.write(".env", undefined));
    desk.edit("a.txt", "b");
    await rig.flush();
    expect(desk.tree()).toEqual({ ".env": "TOKEN=of the desk\n", "a.txt": "b" });
    desk.edit(".env", undefined);
    await rig.during(host.write(".env", SECRET));
    await rig.flush();
    expect(desk.tree()).toEqual({ "a.txt": "b" });
    expect(await rig.during(host.tree())).toEqual({ ".env": SECRET, "a.txt": "b" });
  });

  it("gets secrets and writes them back if a person asks for them", async () => {
    const { desk, host } = await following({ withProtected: true }, { ".env": SECRET, "a.txt": "a" });
    expect(desk.tree()).toEqual({ ".env": SECRET, "a.txt": "a" });
    desk.edit(".env", LATER);
    await rig.flush();
    expect((await rig.during(host.tree()))[".env"]).toBe(LATER);
    expect(desk.sync.shape.with_protected).toBe(true);
  });

  it("is halted if an agent asks for secrets", async () => {
    rig = new FolderRig();
    rig.host.isAgents = true;
    rig.desk.settings = { withProtected: true };
    await rig.during(rig.host.open());
    await rig.during(rig.host.write(".env", SECRET));
    await rig.during(rig.desk.start());
    await rig.until(() => rig.desk.sync.shape.state === "halted");
    expect(rig.desk.sync.shape.reason).toContain("secrets by their names");
    expect(rig.desk.tree()).toEqual({});
  });
});
