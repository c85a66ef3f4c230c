import { expect, it } from "vitest";
import { Serving } from "../server/serving.ts";

/** Each request is wrong for all later steps as well, so that the answer shows which step refuses first. */
it("life of a request", async () => {
  await using serving = await Serving.start();
  const { workspace } = await serving.store.create({ name: "session" });
  const wrong = "/v1/workspaces/none/files/a?depht=1";

  const host = await serving.ask(wrong, { headers: { host: "elsewhere.example" }, token: "guessed" });
  expect([host.status, host.json()]).toEqual([421, expect.objectContaining({ code: "FORBIDDEN" })]);

  const origin = await serving.ask(wrong, { headers: { origin: "https://elsewhere.example" }, token: "guessed" });
  expect(origin.status).toBe(403);

  const stranger = await serving.ask(wrong, { method: "PUT", token: "guessed" });
  expect([stranger.status, stranger.headers["www-authenticate"]]).toEqual([401, "Bearer"]);

  const nowhere = await serving.ask("/v1/nowhere", { method: "PUT", token: serving.token("reader") });
  expect(nowhere.status).toBe(404);

  // A reader may not write.
  const reader = serving.token("reader", ["session"]);
  const refused = await serving.ask("/v1/workspaces/session/files/a", { method: "PUT", token: reader, body: "a" });
  expect([refused.status, refused.json()]).toEqual([403, expect.objectContaining({ code: "FORBIDDEN" })]);

  const hidden = await serving.ask("/v1/workspaces/another/files/a?depht=1", { token: reader });
  expect([hidden.status, hidden.json()]).toEqual([404, expect.objectContaining({ code: "NOT_FOUND" })]);

  const unknown = await serving.ask("/v1/workspaces/session/files/a?depht=1", { token: reader });
  expect([unknown.status, unknown.json()]).toEqual([400, expect.objectContaining({ code: "USAGE" })]);

  const missing = await serving.ask("/v1/workspaces/session/files/a", { token: reader });
  expect([missing.status, missing.headers["content-type"]]).toEqual([404, "application/problem+json; charset=utf-8"]);

  const agent = serving.token("agent", ["session"]);
  const written = await serving.ask("/v1/workspaces/session/files/a", { method: "PUT", token: agent, body: "a\n" });
  expect(written.status).toBe(200);
  const read = await serving.ask("/v1/workspaces/session/files/a", { token: reader });
  const { hash } = await workspace.file("a");
  expect([read.status, read.text, read.headers["etag"]]).toEqual([200, "a\n", `"${hash}"`]);

  // The owner's socket needs no token.
  expect((await serving.ask("/v1/workspaces/session/files/a", { bySocket: true })).text).toBe("a\n");
  await workspace.close();
});
