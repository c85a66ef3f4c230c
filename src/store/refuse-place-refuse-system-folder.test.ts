import { expect, it } from "vitest";
import { ChronicleError } from "../core/values/errors.ts";
import { refuseSystemFolder } from "./refuse-place.ts";

it.each(["/etc", "/etc/nginx", "/usr", "/usr/bin", "/usr/lib/x", "/var", "/home", "/root", "/Users", "/System/x"])(
  "%s is refused as a folder of the system",
  (folder) => {
    expect(() => refuseSystemFolder(folder)).toThrow(ChronicleError);
  },
);

it.each(["/home/me", "/home/me/etc", "/etcetera", "/usr/local/project", "/var/www/site", "/dev/shm/box"])(
  "%s is accepted as a folder of a user",
  (folder) => {
    expect(() => refuseSystemFolder(folder)).not.toThrow();
  },
);
