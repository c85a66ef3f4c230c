import { describe, expect, it } from "vitest";
import { parseUpstream } from "./upstream-address.ts";

/** Tests the parsing of origins' addresses as people type them. */

describe("an origin's address", () => {
  it.each([
    ["http://127.0.0.1:7420#project", "http://127.0.0.1:7420", "project"],
    ["wss://host.example/base/", "wss://host.example/base", undefined],
    ["https://[::1]:7420#", "https://[::1]:7420", undefined],
    ["ws://127.0.0.1:7420/v1/replicate#w", "ws://127.0.0.1:7420", "w"],
    ["https://host.example/base/v1/replicate/", "https://host.example/base", undefined],
    ["unix:/run/me/c.sock#session-1", "unix:/run/me/c.sock", "session-1"],
    ["unix:///run/me/c.sock", "unix:/run/me/c.sock", undefined],
    ["unix:run/c.sock", "unix:/home/me/run/c.sock", undefined],
    ["unix:/run/a#b/c.sock#name", "unix:/run/a#b/c.sock", "name"],
  ])("%s", (text, url, workspace) => {
    expect(parseUpstream(text, "/home/me")).toEqual({ url, workspace });
  });

  it.each([
    ["", "is no address"],
    ["host:7420", "is no address"],
    ["ftp://host", "is no address"],
    ["http://host/?token=x", "is no address"],
    ["http://me:secret@host", "no user and no password"],
    ["unix:", "unix: has no path"],
    [`unix:/${"x".repeat(107)}`, "too long for a socket"],
  ])("%s is refused", (text, why) => {
    expect(() => parseUpstream(text, "/home/me")).toThrow(why);
  });

  it.each([
    ["/run/me/c.sock", "for a socket: unix:/run/me/c.sock"],
    ["./c.sock", "for a socket: unix:./c.sock"],
    ["localhost:7420", "http://localhost:7420, or https://localhost:7420"],
    ["what", "an address is http"],
  ])("%s is refused with a hint of what may be meant", (text, hint) => {
    expect(() => parseUpstream(text, "/")).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
  });

  it("is refused without a password in the message", () => {
    expect(() => parseUpstream("http://me:secret@host", "/")).toThrow(/^(?!.*secret)/);
  });
});
