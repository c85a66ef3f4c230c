import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { describeWithBrowser, openTab, type Tab } from "./page-browser.ts";
import { type Edit, type PageStore, servedStore } from "./page-store.ts";

/**
 * Names and contents that try to break out of the page. All of them are shown as text. Dialogs, violations of the
 * policy, errors and requests to other hosts fail the test (`page-browser.ts`).
 */

const PAYLOAD = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const NAMES: Readonly<Record<string, string>> = {
  "<img src=x onerror=alert(1)>.txt": "<img src=x onerror=alert(1)>.txt",
  "<svg onload=alert(1)>.svg": "<svg onload=alert(1)>.svg",
  "\"'><script>alert(1)<": "\"'><script>alert(1)<",
  "javascript:alert(1)": "javascript:alert(1)",
  "${alert(1)}{{7*7}}": "${alert(1)}{{7*7}}",
  "%2e%2e%2fetc%2fpasswd": "%2e%2e%2fetc%2fpasswd",
  "a?work=x&file=y#z": "a?work=x&file=y#z",
  __proto__: "__proto__",
  constructor: "constructor",
  "cv\u202Efdp.exe": "cv\\u202efdp.exe",
  "zero\u200Bwidth": "zero\\u200bwidth",
  "line\nbreak\ttab": "line\\u000abreak\\u0009tab",
  "\u001B[31mred": "\\u001b[31mred",
  "日本語 العربية עברית हिन्दी 😀": "日本語 العربية עברית हिन्दी 😀",
  "e\u0301 and \u00E9": "e\u0301 and \u00E9",
  " spaces ": " spaces ",
};
const CONTENT = `${PAYLOAD}\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(3)"/>\n\u202Eevil\u202C\n`;
const ACTOR = "<img src=x onerror=alert(5)>";
/** A name that is no UTF-8. */
const BYTES = Buffer.from([0x62, 0x61, 0x64, 0xff, 0xfe]);

async function history(box: PageStore): Promise<void> {
  box.write("keep.txt", "before\n");
  await box.must(["init"]);
  const writeAll: Edit = () => {
    for (const name of Object.keys(NAMES)) box.write(name, CONTENT);
    box.write(`${PAYLOAD.slice(0, 20)}/inner.html`, CONTENT);
    writeFileSync(Buffer.concat([Buffer.from(`${box.project}/`), BYTES]), CONTENT);
    box.write("keep.txt", CONTENT);
  };
  await box.turn("p1", PAYLOAD, { "$ ./write-all": writeAll });
  box.write("keep.txt", `later ${PAYLOAD}\n`);
  await box.must(["snapshot", "-m", PAYLOAD]);
  await box.call(["undo", "--turn", "last"]);
  await box.must(["redo"]);
  await box.call(["run", "--", "sh", "-c", `echo '${PAYLOAD}' > keep.txt`]);
}

/** Records an action of an agent with this name, by the public API. */
async function actAs(actor: string, { page }: Tab, box: PageStore): Promise<void> {
  const token = await page.evaluate(() => sessionStorage.getItem("chronicle.token") ?? "");
  const on = createClient({ url: box.url, token }).workspace(await box.workspace());
  const { session_id: session } = await on.startSession({ actor });
  const payload = { path: "by-an-actor.txt" };
  const action = await on.snapshotAction({ type: "write_file", payload, actor, session, summary: PAYLOAD });
  box.write("by-an-actor.txt", CONTENT);
  if (action !== null) await on.finishAction(action.id);
  await on.endSession(session);
}

/** What the payloads would have put into the document. */
async function foreign({ page }: Tab): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const look = (root: Document | ShadowRoot): void => {
      for (const element of root.querySelectorAll("*")) {
        const isScript =
          element.localName === "script" && !(element as HTMLScriptElement).src.startsWith(location.origin);
        const isForeign = ["iframe", "object", "embed"].includes(element.localName) || isScript;
        const hasHandler = element.getAttributeNames().some((name) => name.startsWith("on"));
        const isLink = element.matches('[href^="javascript:" i], [src^="http" i]:not(script)');
        if (isForeign || hasHandler || isLink) found.push(element.outerHTML.slice(0, 200));
        if (element.shadowRoot !== null) look(element.shadowRoot);
      }
    };
    look(document);
    return found;
  });
}

describeWithBrowser("names and contents that try to break out", () => {
  it("are shown as text in every view", async () => {
    await using box = await servedStore(history);
    const id = await box.workspace();
    await using tab = await openTab(await box.address(`/w/${id}`));
    const { page } = tab;
    await page.getByRole("button", { name: PAYLOAD }).first().waitFor();
    expect(await foreign(tab)).toEqual([]);

    await actAs(ACTOR, tab, box);
    await page.locator(".item").getByText(ACTOR).waitFor();
    expect(await foreign(tab)).toEqual([]);

    await tab.go(`/w/${id}/changes?work=turn%3D5b1f2c3d-0000-4000-8000-000000000001%3Ap1`);
    await page.getByRole("heading", { name: PAYLOAD }).waitFor();
    const files = page.getByRole("navigation", { name: "Changed files" });
    for (const shown of Object.values(NAMES)) {
      const link = files.getByRole("link").filter({ has: page.getByText(shown, { exact: true }) });
      await link.first().waitFor();
    }
    for (const name of ["<img src=x onerror=alert(1)>.txt", "<svg onload=alert(1)>.svg", "inner.html"]) {
      await files.getByRole("link").filter({ hasText: name }).click();
      await page.locator(".file-head").getByText(name).first().waitFor();
      await page.locator(".cm-changedLine", { hasText: "<script>alert(2)</script>" }).first().waitFor();
      expect(await foreign(tab)).toEqual([]);
    }

    await tab.go(`/w/${id}/files`);
    await page.getByRole("link", { name: /onerror=alert\(1\)>\.txt/ }).waitFor();
    for (const [name, shown] of Object.entries(NAMES)) {
      await tab.go(`/w/${id}/file?${new URLSearchParams({ path: JSON.stringify(name) })}`);
      await page.getByRole("heading", { level: 1 }).getByText(shown, { exact: true }).waitFor();
      await page.getByRole("slider", { name: "State of the file" }).waitFor();
    }
    expect(await foreign(tab)).toEqual([]);
    await page.getByRole("tab", { name: "Who wrote each line" }).click();
    await page.getByRole("region", { name: "Who wrote each line" }).getByText(PAYLOAD).waitFor();
    expect(await foreign(tab)).toEqual([]);

    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Go to" }).fill("<img");
    await page
      .getByRole("option", { name: /onerror/ })
      .first()
      .waitFor();
    await page.keyboard.press("Escape");
    for (const [view, shown] of [
      ["", "Workspaces"],
      [`/w/${id}/integrity`, "The signed head"],
      [`/w/${id}/space`, "This workspace"],
    ] as const) {
      await tab.go(view === "" ? "/" : view);
      await page.getByText(shown).first().waitFor();
      expect(await foreign(tab)).toEqual([]);
    }
    expect(box.read(join("keep.txt"))).toContain("alert(2)");
  });
});
