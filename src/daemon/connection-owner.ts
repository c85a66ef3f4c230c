import { isIPv4, isIPv6 } from "node:net";
import type { Disk } from "../disk/disk.ts";
import type { Connection } from "../server/answers/server-route.ts";
import { ownUid } from "./run-folder.ts";
import { procText } from "./agent-process.ts";

/** The owner of the other end of a connection: a user's id, `nobody` if no process of this machine holds that end. */
type Owner = number | "nobody" | "unknown";

/**
 * Returns the owner of the other end of a connection to a loopback address. Returns `unknown` for any other connection,
 * which may come from another machine, and if the system does not say (no `/proc/net`).
 */
export function connectionOwner(disk: Disk, connection: Connection): Owner {
  const read = (): Owner => {
    const texts = ["tcp", "tcp6"].map((name) => procText(disk, `/proc/net/${name}`) ?? "");
    return ownerIn(texts.join("\n"), connection);
  };
  const owner = read();
  // The system may leave a row out if others go while the table is read.
  return owner === "nobody" ? read() : owner;
}

/** True if the owner is certainly another user. Root may do what this user may. */
export function isForeign(owner: Owner): boolean {
  return owner === "nobody" || (owner !== "unknown" && owner !== 0 && owner !== ownUid());
}

/** As `connectionOwner`, from the texts of `/proc/net/tcp` and `/proc/net/tcp6` (proc_net(5)). */
export function ownerIn(text: string, { here, there }: Connection): Owner {
  if (!/^(127\.|::ffff:127\.|::1$)/i.test(here.address)) return "unknown";
  const [near, far] = [here, there].map(({ address, port }) => namesOf(address, port));
  if (near === undefined || far === undefined) return "unknown";
  const rows = text.split("\n").map((line) => line.trim().split(/\s+/));
  const ownerOf = (local: readonly string[], remote: readonly string[]): string | undefined =>
    rows.find(([, from = "", to = ""]) => local.includes(from) && remote.includes(to))?.[7];
  // If the table lacks this process's own end, it is not the table of this connection.
  if (ownerOf(near, far) === undefined) return "unknown";
  const owner = ownerOf(far, near);
  return owner === undefined ? "nobody" : Number(owner);
}

/**
 * Returns the forms of an address with its port in the tables: words of four bytes in the order of the machine, in hex.
 * A socket of IPv6 has an address of IPv4 behind a prefix. Returns `undefined` for a text that is no address.
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

/** Returns the 16 bytes of an address of IPv6, which Node writes in hex, perhaps with a zone. */
function bytesOf(address: string): readonly number[] {
  const [head = [], tail = []] = address
    .replace(/%.*$/, "")
    .split("::")
    .map((part) => part.split(":").flatMap((group) => (group === "" ? [] : [Number.parseInt(group, 16)])));
  const groups = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return groups.flatMap((group) => [Math.floor(group / 256), group % 256]);
}
