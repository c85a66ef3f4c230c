import { afterEach, describe, expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

let rig: FolderRig;

afterEach(() => rig.close());

/** A folder that follows an origin which has these files, and has some of its own before it begins. */
async function following(there: Record<string, string>, here: Record<string, string> = {}): Promise<FolderRig> {
  rig = new FolderRig();
  await rig.during(rig.host.open());
  for (const [path, content] of Object.entries(there)) await rig.during(rig.host.write(path, content));
  for (const [path, content] of Object.entries(here)) rig.desk.edit(path, content);
  await rig.during(rig.desk.start());
  await rig.flush();
  return rig;
}

describe("secrets that stay on their sides", () => {
  it("are counted, named with their side, and not pending", async () => {
    const { desk } = await following(
      { a: "1", ".env": "there", ".npmrc": "there" },
      { id_rsa: "here", ".npmrc": "here" },
    );
    expect(desk.sync.shape).toMatchObject({
      ...{ state: "in-sync", pending: 0, kept_back: 3, secrets: 3 },
      secret_paths: [
        { path: ".env", side: "upstream" },
        { path: ".npmrc", side: "both" },
        { path: "id_rsa", side: "local" },
      ],
    });
    desk.edit("id_rsa", undefined);
    desk.edit("deploy.pem", "here");
    await rig.flush();
    await rig.until(() => desk.sync.shape.secret_paths?.[2]?.path === "deploy.pem");
    expect(desk.sync.shape).toMatchObject({ state: "in-sync", secrets: 3 });
  });

  it("are counted after a first sync into an empty folder, and after a restart", async () => {
    const { desk } = await following({ a: "1", ".env": "there" });
    const told = { kept_back: 1, secrets: 1, secret_paths: [{ path: ".env", side: "upstream" }] };
    expect(desk.sync.shape).toMatchObject(told);
    await rig.during(desk.close());
    await rig.during(desk.start());
    await rig.flush();
    expect(desk.sync.shape).toMatchObject(told);
  });

  it("are not reported if both sides have the same content", async () => {
    const { desk } = await following({ a: "1", ".env": "same" }, { ".env": "same" });
    expect(desk.sync.shape.secrets).toBeUndefined();
    expect(desk.sync.shape.kept_back).toBeUndefined();
  });
});
