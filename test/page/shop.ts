import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PageStore } from "./page-store.ts";
import { SHIFT, shiftClock, shiftTo } from "./shifted-clock.ts";

/** The time at which somebody looks at the shop. */
export const NOW = Date.parse("2030-01-10T12:00:00Z");

/** A small shop on which an agent, a person and a command have worked for three days, always at the same times. */
export class Shop extends PageStore {
  #shift = 0;

  /** Makes the history, and starts the server. */
  static async open(): Promise<Shop> {
    const shop = new Shop();
    try {
      await work(shop);
      shop.at(NOW);
      // Only the server's clock stays shifted.
      shiftClock(0);
      await shop.serve();
      return shop;
    } catch (error) {
      await shop[Symbol.asyncDispose]();
      throw error;
    } finally {
      shiftClock(0);
    }
  }

  override env(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    const clock = join(import.meta.dirname, "shifted-clock.ts");
    return super.env({ NODE_OPTIONS: `--import=${clock}`, [SHIFT]: String(this.#shift), ...more });
  }

  /** Sets the clocks of this process and of the commands. */
  at(time: string | number): void {
    this.#shift = shiftTo(typeof time === "number" ? time : Date.parse(`2030-01-${time}Z`));
    shiftClock(this.#shift);
  }

  override write(path: string, content: string | Uint8Array): void {
    const full = join(this.project, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    utimesSync(full, new Date(), new Date());
  }
}

function prices(from: number, to: number): string {
  return Array.from(
    { length: to - from + 1 },
    (_, i) => `export function price${from + i}(amount: number): number {\n  return amount * ${from + i};\n}\n`,
  ).join("");
}

const CHECK = '  if (!Number.isFinite(amount)) throw new RangeError("not a number");\n';
const CHECKED = prices(1, 30)
  .replace("  return amount * 4;", `${CHECK}  return amount * 4;`)
  .replace("  return amount * 21;", `${CHECK}  return amount * 21;`)
  .replace("price28(amount: number)", "price28(amount: number, rebate = 0)");
const SERVER = 'import { price1 } from "./prices.ts";\n\nexport const total = price1(3);\n';

async function work(shop: Shop): Promise<void> {
  shop.at("08T09:00:00");
  shop.write("src/prices.ts", prices(1, 30));
  shop.write("src/server.ts", SERVER);
  shop.write("README.md", "# Shop\n\nA small shop.\n");
  shop.write("package.json", '{\n  "name": "shop",\n  "version": "1.0.0"\n}\n');
  await shop.must(["init"]);
  shop.at("08T09:20:00");
  await shop.turn("p1", "Check the amounts before they are used", {
    "src/prices.ts": () => shop.write("src/prices.ts", CHECKED),
    "src/amount.ts": () => {
      shop.at("08T09:31:00");
      shop.write("src/amount.ts", "export const isAmount = (value: unknown) => Number.isFinite(value);\n");
    },
  });
  shop.at("08T16:30:00");
  shop.write("README.md", "# Shop\n\nA small shop.\n\nMaintained by people.\n");
  await shop.must(["snapshot", "-m", "before the weekend"]);
  shop.at("09T10:00:00");
  await shop.must(["run", "--", "sh", "-c", "mkdir dist; for i in 1 2 3 4 5 6; do echo $i > dist/$i.js; done"]);
  shop.at("10T08:00:00");
  await shop.turn("p2", "Move the server to src/http, and add a health check", {
    "src/http/server.ts": () =>
      shop.write("src/http/server.ts", `${SERVER.replace("./", "../")}\nexport const health = () => "ok";\n`),
    "$ rm src/server.ts": () => {
      shop.at("10T08:04:00");
      rmSync(join(shop.project, "src/server.ts"));
    },
  });
  shop.at("10T10:30:00");
  shop.write("src/prices.ts", CHECKED.replace(CHECK, '  if (amount < 0) throw new RangeError("too small");\n'));
  await shop.must(["snapshot", "-m", "no negative amounts"]);
  shop.at("10T11:15:00");
  const { code } = await shop.call(["undo", "--turn", "p1"]);
  if (code !== 1) throw new Error(`the undo should meet a conflict, and ended with ${code}`);
}
