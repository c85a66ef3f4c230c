import { expect, it } from "vitest";
import * as z from "zod";
import { validate } from "../../src/api/routes/validate.ts";
import { json, problem, ScriptedPeer } from "./scripted-peer.ts";

/** The answer of a server that knows only some fields of a query. */
function refusal(given: object) {
  const checked = validate(z.strictObject({ limit: z.string().optional() }), given, "query");
  if (!("error" in checked)) throw new Error("nothing is refused");
  return problem(400, "USAGE", { detail: checked.error.message });
}

const list = { items: [], undoable: null };

it("a server that does not know a detail is asked once more without it, and never for it again", async () => {
  const refused = refusal({ renames: "false", unrecorded: "true" });
  await using peer = await ScriptedPeer.start(refused, json(list));
  const workspace = peer.client().workspace("w");
  expect(await workspace.recent(5, { renames: false, unrecorded: true, kind: "run" })).toEqual(list);
  expect(await workspace.as({ actor: "ann" }).recent(5, { renames: false, kind: "run" })).toEqual(list);
  expect(peer.requests.map(({ url }) => url.split("?")[1])).toEqual([
    "limit=5&renames=false&unrecorded=true&kind=run",
    "limit=5&kind=run",
    "limit=5&kind=run",
  ]);
});

it("a field that is more than a detail, and another error, stay errors", async () => {
  await using peer = await ScriptedPeer.start(refusal({ graph: "true" }), refusal({ renames: "true", patch: "true" }));
  const workspace = peer.client().workspace("w");
  await expect(workspace.recent(5, { graph: true, renames: false })).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.diff("a", "b", { patch: true, renames: true })).rejects.toMatchObject({ code: "USAGE" });
  expect(peer.requests).toHaveLength(2);
});

it("a server that does not know the steps of a verification verifies without them", async () => {
  const sound = { ok: true, events: 3 };
  await using peer = await ScriptedPeer.start(problem(404, "NOT_FOUND"), json(sound));
  const verified = peer
    .client()
    .workspace("w")
    .verify({ quick: true, onProgress: () => expect.fail("no progress") });
  expect(await verified).toEqual(sound);
  expect(peer.requests.map(({ url }) => url)).toEqual([
    "/v1/workspaces/w/verify-steps?quick=true",
    "/v1/workspaces/w/verify?quick=true",
  ]);
});
