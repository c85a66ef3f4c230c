import { describe, expect, it } from "vitest";
import { rangeOf, attachment, contentTypeOf } from "../../src/server/answers/send-content.ts";
import { tcpListener } from "../../src/server/callers/listener.ts";
import { RateLimiter } from "../../src/server/limits/rate-limiter.ts";

describe("a range", () => {
  it.each([
    ["bytes=0-0", 10, { start: 0, end: 1 }],
    ["bytes=-20", 10, { start: 0, end: 10 }],
    ["bytes=0-", 0, "unsatisfiable"],
    ["bytes=-5", 0, "unsatisfiable"],
    ["bytes=10-", 10, "unsatisfiable"],
    ["bytes=99999999999999999999-", 10, undefined],
    ["bytes=-", 10, undefined],
    [undefined, 10, undefined],
  ])("%o of %i bytes", (header, size, range) => {
    expect(rangeOf(header, size)).toEqual(range);
  });
});

describe("types and names of contents", () => {
  it.each([
    ["a.png", "image/png"],
    ["dir.png/a", "application/octet-stream"],
    ["a.html", "text/plain; charset=utf-8"],
    ["a.svg", "text/plain; charset=utf-8"],
    ["a.svg.gz", "application/octet-stream"],
    ["a.pdf", "application/octet-stream"],
    [".html", "text/plain; charset=utf-8"],
    ["constructor", "application/octet-stream"],
    ["a.constructor", "application/octet-stream"],
    ["a.__proto__", "application/octet-stream"],
  ])("%s is %s", (path, type) => {
    expect(contentTypeOf(path)).toBe(type);
  });

  it("have no quotes, line breaks or lone surrogates in their header", () => {
    expect(attachment('d/\ud800"\r\n.txt')).toBe(
      "attachment; filename=\"____.txt\"; filename*=UTF-8''%EF%BF%BD%22%0D%0A.txt",
    );
  });
});

describe("a rate", () => {
  it("takes a burst, and then as many as its rate allows, of each key separately", () => {
    const limiter = new RateLimiter({ burst: 2, perSecond: 1 });
    const take = (key: string, now: number): number => limiter.take(key, now);
    expect([take("a", 0), take("a", 0), take("a", 0), take("b", 0)]).toEqual([0, 0, 1, 0]);
    expect([take("a", 1_000), take("a", 1_000)]).toEqual([0, 1]);
    expect([take("a", 500_000), take("a", 500_000), take("a", 500_000)]).toEqual([0, 0, 1]);
  });

  it("forgets keys beyond its limit of memory, and gives nothing for a clock that goes back", () => {
    const limiter = new RateLimiter({ burst: 1, perSecond: 0.001 });
    expect(limiter.take("first", 1_000)).toBe(0);
    expect(limiter.take("first", 0)).toBeGreaterThan(0);
    for (let n = 0; n < 10_001; n += 1) limiter.take(`k${n}`, 1_000);
    expect(limiter.take("first", 1_000)).toBe(0);
  });
});

describe("the names of a port", () => {
  it.each([
    [{ scheme: "http", port: 7420, hosts: ["localhost"] }, ["localhost:7420"]],
    [{ scheme: "http", port: 80, hosts: ["[::1]"] }, ["[::1]:80", "[::1]"]],
    [{ scheme: "https", port: 8443, hosts: ["Files.example.org"] }, ["files.example.org:8443", "files.example.org"]],
    [{ scheme: "http", port: 7420, hosts: ["files.example.org:444"] }, ["files.example.org:444"]],
  ] as const)("%o", (names, hosts) => {
    expect(tcpListener({ ...names, sharedWith: [] }).hosts).toEqual(hosts);
  });
});
