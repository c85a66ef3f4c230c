import { cpSync, existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ClockedProject } from "../helpers/clocked-project.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const DAY = 24 * 60;

/** A store in which an `init` was killed before anything was recorded, beside a sound workspace. */
async function killed(project: ClockedProject): Promise<{ readonly left: string; readonly ids: () => string[] }> {
  const workspaces = join(project.base, "store/workspaces");
  const aside = join(project.base, "aside");
  for (let n = 0; n < 20; n += 1) project.write(`f${n}`, `${n}`);
  const store = await project.store();
  const onProgress = (): void => {
    const [id = ""] = readdirSync(workspaces);
    const isBegun = existsSync(join(workspaces, id, "events.wal"));
    if (!existsSync(aside) && !isBegun) cpSync(join(workspaces, id), aside, { recursive: true });
  };
  const { workspace } = await store.init({ roots: [project.folder], onProgress });
  await workspace.close();
  const left = join(workspaces, ID);
  cpSync(aside, left, { recursive: true });
  writeFileSync(join(left, "workspace.json"), `${JSON.stringify({ format: 2, id: ID })}\n`);
  const then = project.now / 1_000;
  utimesSync(join(left, "workspace.json"), then, then);
  return { left, ids: () => readdirSync(workspaces).toSorted() };
}

it("Truth 19: gc removes what a killed init has left, a day later", async () => {
  await using project = new ClockedProject();
  const { ids } = await killed(project);
  const store = await project.store();
  expect(ids()).toContain(ID);
  await store.gc();
  expect(ids()).toContain(ID);
  project.pass(DAY + 1);
  await store.gc();
  expect(ids()).toHaveLength(1);
  expect(ids()).not.toContain(ID);
  expect(await store.workspaces()).toHaveLength(1);
});

it("Truth 19: doctor says that a killed init has recorded nothing, and not that a history is damaged", async () => {
  await using project = new ClockedProject();
  const { left } = await killed(project);
  const store = await project.store();
  const histories = async () => (await store.doctor()).checks.filter(({ name }) => name === "history");
  expect(await histories()).toEqual([
    {
      name: "history",
      ok: true,
      workspace: ID,
      detail: expect.stringMatching(new RegExp(`^workspace ${ID}: its \`init\` was interrupted.*chronicle gc`)),
    },
  ]);
  expect(existsSync(join(left, "workspace.json"))).toBe(true);
  writeFileSync(join(left, "off-record.json"), "{}");
  expect(await histories()).toMatchObject([{ ok: false }]);
});

it("Truth 19: gc does not take a workspace whose log is gone for one whose init was killed", async () => {
  await using project = new ClockedProject();
  const { left, ids } = await killed(project);
  for (const name of ["quarantine", "archive"]) cpSync(join(project.folder), join(left, name), { recursive: true });
  project.pass(DAY + 1);
  await (await project.store()).gc();
  expect(ids()).toContain(ID);
});
