import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Serving } from "./serving.ts";

/** Which requests are taken, and how the others are refused. */

let serving: Serving;
let folder: string;

beforeAll(async () => {
  serving = await Serving.start({
    folder: true,
    before: async (_store, base) => {
      mkdirSync(join(base, "project/.chronicle/query"), { recursive: true });
      mkdirSync(join(base, "project/src"));
      writeFileSync(join(base, "project/.chronicle/query/a"), "really there");
      writeFileSync(join(base, "project/src/a"), "a");
    },
  });
  const { items } = (await serving.ask("/v1/workspaces")).json<{ items: { id: string; path: string }[] }>();
  folder = items.find(({ path }) => path !== "")?.id ?? "";
  await serving.create("w");
});
afterAll(() => serving[Symbol.asyncDispose]());

const etag = async (path: string): Promise<string> => String((await serving.read("w", path)).headers["etag"]);

describe("a folder", () => {
  it("has no content: a read of it is refused with a hint how to list it", async () => {
    await serving.put("w", "dir/a", "1");
    const asked = await serving.read("w", "dir");
    expect([asked.status, asked.json()]).toMatchObject([409, { code: "REFUSED", detail: "dir is a folder" }]);
    expect(asked.json()["hint"]).toContain("files?path=");
    expect((await serving.read("w", "dir", { method: "HEAD" })).status).toBe(409);
    expect((await serving.ask("/v1/workspaces/w/file?path=dir")).json()).toMatchObject({ kind: "dir", size: 0 });
  });
});

describe("a virtual path", () => {
  it.each([".chronicle/query/a", ".chronicle/at/1/a", ".chronicle/at/last/a"])("%s is not written", async (path) => {
    expect(await serving.put("w", path, "x")).toMatchObject({ status: 409 });
    expect(await serving.ask(`/v1/workspaces/w/folders/${path}`, { method: "PUT" })).toMatchObject({ status: 409 });
    await serving.put("w", "source", "1");
    expect(await serving.send("/v1/workspaces/w/move", { from: "source", to: path })).toMatchObject({ status: 409 });
    expect((await serving.read("w", "source")).text).toBe("1");
  });

  it("is written if it only looks like one", async () => {
    expect((await serving.put("w", ".chronicle/at/0/a", "x")).status).toBe(200);
    expect((await serving.put("w", ".chronicle/other", "x")).status).toBe(200);
  });

  it("may be a file that is there on disk: as=content reads it", async () => {
    expect((await serving.read(folder, ".chronicle/query/a?as=content")).text).toBe("really there");
    const history = await serving.read(folder, ".chronicle/query/a/history?as=history");
    expect(history.json()).toMatchObject({ items: [{ iteration: 1 }] });
    expect((await serving.read(folder, ".chronicle/query/a/at/1?as=iteration")).text).toBe("really there");
  });
});

describe("If-Match", () => {
  const put = (match: string, path = "m") =>
    serving.put("w", path, `${Math.random()}`, { headers: { "if-match": match } });
  const none = `"${"0".repeat(64)}"`;

  it("takes a list of ETags, one of which must be that of the content", async () => {
    await serving.put("w", "m", "1");
    expect((await put(`${none}, ${await etag("m")}`)).status).toBe(200);
    expect((await put(`${await etag("m")},${none} , "x"`)).status).toBe(200);
    expect((await put(`${none}, "${"1".repeat(64)}"`)).status).toBe(412);
    expect((await put(`*`)).status).toBe(200);
    expect((await put(`"a", "b"`)).status).toBe(412);
    expect((await put(`"a", "b"`, "not-there")).status).toBe(412);
  });

  it("takes a list again when its change is sent again", async () => {
    await serving.put("w", "again", "1");
    let matched = "";
    const headers = (key: string) => ({ headers: { "if-match": matched, "idempotency-key": key } });
    for (const [key, ask] of [
      ["put-again", () => serving.put("w", "again", "2", headers("put-again"))],
      [
        "move-again",
        () => serving.send("/v1/workspaces/w/move", { from: "again", to: "moved" }, headers("move-again")),
      ],
      [
        "delete-again",
        () => serving.ask("/v1/workspaces/w/files/moved", { method: "DELETE", ...headers("delete-again") }),
      ],
    ] as const) {
      matched = `${none}, ${await etag(key === "delete-again" ? "moved" : "again")}`;
      const first = await ask();
      const again = await ask();
      expect([key, first.status, again.status, again.text]).toEqual([key, 200, 200, first.text]);
    }
  });

  it("refuses a weak ETag, and what is no ETag", async () => {
    expect((await put(`W/${await etag("m")}`)).status).toBe(412);
    expect((await put((await etag("m")).replaceAll('"', ""))).status).toBe(400);
    expect((await put(`"a" b`)).status).toBe(400);
    expect((await put(" ")).status).toBe(400);
  });

  it("is about the source of a move", async () => {
    await serving.put("w", "from", "1");
    const move = async (match: string) =>
      serving.send("/v1/workspaces/w/move", { from: "from", to: "to" }, { headers: { "if-match": match } });
    expect((await move(`${none}, "b"`)).status).toBe(412);
    expect((await move(`${none}, ${await etag("from")}`)).status).toBe(200);
  });
});

it("a body with a Content-Encoding is refused", async () => {
  const packed = await serving.put("w", "packed", "x", { headers: { "content-encoding": "gzip" } });
  expect([packed.status, packed.json()["detail"]]).toEqual([415, expect.stringContaining("Content-Encoding")]);
  expect((await serving.put("w", "packed", "x", { headers: { "content-encoding": "identity" } })).status).toBe(200);
  const json = { headers: { "content-encoding": "br" } };
  expect((await serving.send("/v1/workspaces", { name: "packed" }, json)).status).toBe(415);
});

it("hints say what to do about a name", async () => {
  const long = await serving.put("w", "n".repeat(256), "x");
  expect([long.status, long.json()["hint"]]).toEqual([400, "choose a shorter name"]);
  const bytes = await serving.read("w", "%ff");
  expect([bytes.status, bytes.json()["hint"]]).toEqual([400, expect.stringContaining("base64:")]);
});

it("permissions are a decimal number, or an octal one that begins with 0", async () => {
  const put = async (permissions: string) => {
    const answer = await serving.put("w", `p${permissions}?permissions=${permissions}`, "x");
    return answer.status === 200 ? answer.json<{ file: { permissions: number } }>().file.permissions : answer.status;
  };
  expect(await Promise.all(["493", "0755", "511", "512", "04755", "0o755"].map(put))).toEqual([
    493, 0o755, 511, 400, 400, 400,
  ]);
});

describe("whoever is no operator", () => {
  it("is not told where folders lie", async () => {
    for (const role of ["reader", "agent"] as const) {
      const token = serving.token(role);
      for (const path of ["status", "sessions", "retention", "verify", "explain?path=src/a", "snapshots"]) {
        const { status, text } = await serving.ask(`/v1/workspaces/${folder}/${path}`, { token });
        expect([path, status]).toEqual([path, 200]);
        expect(text).not.toContain(serving.base);
      }
      const shown = await serving.ask("/v1/workspaces", { token });
      expect(shown.text).not.toContain(serving.base);
    }
    expect((await serving.ask(`/v1/workspaces/${folder}/status`)).text).toContain(serving.base);
  });

  it("is told in words what the role may not do", async () => {
    const token = serving.token("agent");
    const forget = await serving.ask("/v1/workspaces/w", { method: "DELETE", token });
    expect(forget.json()["detail"]).toContain("remove a workspace's history");
    const asAgent = { headers: { "chronicle-role": "agent" } };
    const collect = await serving.ask("/v1/workspaces/w/gc", { method: "POST", ...asAgent });
    expect([collect.status, collect.json()["detail"]]).toEqual([403, expect.stringContaining("free contents")]);
  });

  it("is refused the metrics", async () => {
    for (const token of [serving.token("reader"), serving.token("operator", ["w"])]) {
      expect((await serving.ask("/metrics", { token })).status).toBe(403);
    }
    expect((await serving.ask("/metrics", { token: null })).status).toBe(401);
  });
});
