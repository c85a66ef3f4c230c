import { expect, it } from "vitest";
import { hintOfErrno, isDiskFailure } from "./errno.ts";
import { ChronicleError, codedError, errnoOf } from "./errors.ts";

/** An error as Node throws it. */
function failed(code: string, what: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${what}, ${call} '${path}'`), { code, syscall: call, path });
}

it.each([
  [
    failed("EROFS", "read-only file system", "mkdir", "/proc/self/fd/48/.chronicle-tmp"),
    "the file system is read-only: .chronicle-tmp cannot be made (EROFS)",
  ],
  [
    failed("EACCES", "permission denied", "scandir", "/proc/self/fd/7"),
    "no permission: the folder cannot be listed (EACCES)",
  ],
  [failed("EACCES", "permission denied", "open", "/store/key"), "no permission: /store/key cannot be opened (EACCES)"],
  [failed("EIO", "i/o error", "open", "/proc/self/fd/9/a"), "EIO: i/o error, open 'a'"],
])("%s is reported without the paths of this process's descriptors", (error, message) => {
  expect(codedError(error)).toMatchObject({ code: "IO", message, cause: error });
});

it("errnoOf gives no errno for a ChronicleError, even if its code looks like one", () => {
  expect(errnoOf(new ChronicleError("ERASED", "the content was erased"))).toBeUndefined();
  expect(errnoOf(new ChronicleError("IO", "the disk fails", { data: { errno: "EIO" } }))).toBeUndefined();
  expect(errnoOf(failed("ENOENT", "no such file", "open", "/x"))).toBe("ENOENT");
});

it.each(["ESTALE", "ENOTCONN", "ENODEV", "ENXIO", "ENOLINK", "ENOMEDIUM", "ESHUTDOWN"])(
  "%s is a failure of the disk, with the hint to mount it again",
  (errno) => {
    expect(hintOfErrno(errno)).toContain("mount it again");
    expect(isDiskFailure(errno)).toBe(true);
  },
);
