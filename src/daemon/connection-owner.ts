import { isIPv4, isIPv6 } from "node:net";
import type { Disk } from "../disk/disk.ts";
import type { Connection } from "../server/answers/server-route.ts";
import { ownUid } from "./run-folder.ts";
import { procText } from "./agent-process.ts";

/**
 * The owner of the other end of a connection: the id of a user, `nobody` if no process of this machine holds that end,
 * or `unknown`.
 */
type Owner = number | "nobody" | "unknown";

/**
 * Returns the owner of the other end of a connection to a loopback address. Returns `unknown` for a connection to any
 * other address, because it may come from another machine. Also returns `unknown` on a system without `/proc/net`.
 */
export function connectionOwner(disk: Disk, connection: Connection): Owner {
  const read = (): Owner => {
    const texts = ["tcp", "tcp6"].map((name) => procText(disk, `/proc/net/${name}`) ?? "");
    return ownerIn(texts.join("\n"), connection);
  };
  const owner = read();
  // Read the tables once more: the system can leave a row out if other rows disappear during the read.
  return owner === "nobody" ? read() : owner;
}

/**
 * True if the other end certainly belongs neither to this process's user nor to root. Root may do everything that this
 * user may do.
 */
export function isForeign(owner: Owner): boolean {
  return owner === "nobody" || (owner !== "unknown" && owner !== 0 && owner !== ownUid());
}

/** Returns the same as `connectionOwner`. `text` is the text of `/proc/net/tcp` and `/proc/net/tcp6` (proc_net(5)). */
export function ownerIn(text: string, { here, there }: Connection): Owner {
  if (!/^(127\.|::ffff:127\.|::1$)/i.test(here.address)) return "unknown";
  const [near, far] = [here, there].map(({ address, port }) => namesOf(address, port));
  if (near === undefined || far === undefined) return "unknown";
  const rows = text.split("\n").map((line) => line.trim().split(/\s+/));
  const ownerOf = (local: readonly string[], remote: readonly string[]): string | undefined =>
    rows.find(([, from = "", to = ""]) => local.includes(from) && remote.includes(to))?.[7];
  // If the tables lack this process's own end of the connection, they do not cover the connection.
  if (ownerOf(near, far) === undefined) return "unknown";
  const owner = ownerOf(far, near);
  return owner === undefined ? "nobody" : Number(owner);
}

/**
 * Returns the texts that can stand for an address and its port in the tables. The tables write an address in hex, as
 * words of four bytes in the machine's byte order. The table of IPv6 writes an IPv4 address with a prefix. Returns
 * `undefined` if `address` is no IP address.
 */
function namesOf(address: string, port: number): readonly string[] | undefined {
  const name = (bytes: readonly number[]): string => `${wordsOf(bytes)}:${hex(port, 4)}`;
  const plain = address.replace(/^::ffff:/i, "");
  if (isIPv4(plain)) {
    const short = name(plain.split(".").map(Number));
    return [short, `0000000000000000FFFF0000${short}`];
  }
  return isIPv6(plain) ? [name(bytesOf(plain))] : undefined;
}

function hex(number: number, digits: number): string {
  return number.toString(16).toUpperCase().padStart(digits, "0");
}

function wordsOf(bytes: readonly number[]): string {
  const starts = bytes.flatMap((_, at) => (at % 4 === 0 ? [at] : []));
  return starts
    .map((at) =>
      bytes
        .slice(at, at + 4)
        .toReversed()
        .map((byte) => hex(byte, 2))
        .join(""),
    )
    .join("");
}

/** Returns the 16 bytes of an IPv6 address in the notation of Node: groups in hex, perhaps with a zone (`%eth0`). */
function bytesOf(address: string): readonly number[] {
  const [head = [], tail = []] = address
    .replace(/%.*$/, "")
    .split("::")
    .map((part) => part.split(":").flatMap((group) => (group === "" ? [] : [Number.parseInt(group, 16)])));
  const groups = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return groups.flatMap((group) => [Math.floor(group / 256), group % 256]);
}
