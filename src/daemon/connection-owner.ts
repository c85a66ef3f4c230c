import type { Disk } from "../disk/disk.ts";
import type { Connection } from "../server/answers/server-route.ts";
import { ownUid } from "./run-folder.ts";
import { procText } from "./agent-process.ts";

/** The owner of the other end of a connection: a user's id, `nobody` if no process of this machine holds that end. */
type Owner = number | "nobody" | "unknown";

/**
 * Returns the owner of the other end of a connection to a loopback address of IPv4. Returns `unknown` for any other
 * connection, which may come from another machine, and if the system does not say (no `/proc/net`).
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
  if (!here.address.startsWith("127.")) return "unknown";
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
 * Returns the forms of an IPv4 address with its port in the tables: its bytes in the order of the machine, in hex. A
 * socket of IPv6 has it behind a prefix. Returns `undefined` for another address.
 */
function namesOf(address: string, port: number): readonly string[] | undefined {
  const parts = address.replace(/^::ffff:/, "").split(".");
  if (parts.length !== 4) return undefined;
  const hex = (number: number, digits: number): string => number.toString(16).toUpperCase().padStart(digits, "0");
  const bytes = parts.toReversed().map((part) => hex(Number(part), 2));
  const name = `${bytes.join("")}:${hex(port, 4)}`;
  return [name, `0000000000000000FFFF0000${name}`];
}
