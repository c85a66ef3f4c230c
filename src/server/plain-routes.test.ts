import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../api/routes/table.ts";
import { PlainRoutes } from "./plain-routes.ts";
import { groupRows } from "./row-index.ts";

const groups = groupRows(ROUTES);
const plain = new PlainRoutes(groups);
const find = (url: string, method = "GET", headers: IncomingMessage["headers"] = {}): string | undefined =>
  plain.find({ method, url, headers } as IncomingMessage)?.url;

describe("plain questions", () => {
  it.each(groups.filter(({ method }) => method === "GET").map(({ url }) => url))("%s is found", (url) => {
    const asked = url.replaceAll(/:[a-z_]+/g, "x-1").replace("*", "src/a.txt");
    expect(find(asked)).toBe(url);
    expect(find(asked, "PUT")).toBeUndefined();
  });

  it("leaves to the router whatever has to be taken apart or decoded, and whatever has a body", () => {
    const url = "/v1/workspaces/w/files/a";
    expect(find(url)).toBe("/v1/workspaces/:id/files/*");
    for (const other of ["?depth=1", "%20b", "#b", ";b", "\\b", "//b", "/"]) expect(find(url + other)).toBeUndefined();
    for (const headers of [{ "content-length": "1" }, { "transfer-encoding": "chunked" }])
      expect(find(url, "GET", headers)).toBeUndefined();
    for (const method of ["HEAD", "POST", "DELETE"]) expect(find(url, method)).toBeUndefined();
  });

  it.each([
    "/",
    "/v1",
    "/v1/workspaces//files/a",
    "/v1/workspaces/w/files/",
    "/v1/workspaces/w/none",
    "/v2/workspaces",
  ])("%s is none", (url) => expect(find(url)).toBeUndefined());
});
