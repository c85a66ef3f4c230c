import { expect, test } from "vitest";
import { dialOrigin } from "./dial-origin.ts";

test.each(["http://[", "localhost:7070", "", "ftp://host", "file:///x"])(
  "%j is refused as the address of an origin",
  async (url) => {
    const { signal } = new AbortController();
    await expect(dialOrigin({ url }, signal)).rejects.toMatchObject({ code: "USAGE", data: { url } });
  },
);
