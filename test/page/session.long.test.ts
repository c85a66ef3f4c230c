import { expect, it } from "vitest";
import { describeWithBrowser, openTab, tabIn } from "./page-browser.ts";
import { servedStore } from "./page-store.ts";

/** Getting into the page, staying there, and being sent away. */

const REFUSED = /status of 401/;

describeWithBrowser("the session of a tab", () => {
  it("begins with the address of chronicle ui, once, and is kept in this tab only", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const ran = box.run(["ui", "--no-open", "--json"]);
    expect([ran.stderr, ran.code]).toEqual(["", 0]);
    const { url } = JSON.parse(ran.stdout) as { url: string };
    const code = new URL(url).hash.replace("#code=", "");
    await using tab = await openTab(url, { expected: REFUSED });
    const { page, context } = tab;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    expect(new URL(page.url()).hash).toBe("");
    const token = await page.evaluate(() => Object.values({ ...sessionStorage }).find((one) => one.startsWith("chr_")));
    expect(token).toMatch(/^chr_page_/);
    const elsewhere = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie + location.href);
    const cookies = JSON.stringify(await context.cookies());
    await page.reload();
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    for (const secret of [token ?? "", code])
      expect([elsewhere, cookies, ...asked].filter((text) => text.includes(secret))).toEqual([]);

    const second = await tabIn(context, REFUSED);
    await second.page.goto(url);
    await second.page.getByText("this code is not known, was used or has expired").waitFor();
    await second.page.getByText("chronicle ui", { exact: true }).waitFor();
    expect(await second.page.evaluate(() => [sessionStorage.length, location.hash])).toEqual([0, ""]);
  });

  it("is said to be over when the server was killed and started again, and a new code lets it in", async () => {
    await using box = await servedStore((one) => one.must(["init"]));
    const view = `/w/${await box.workspace()}`;
    const away = /ERR_CONNECTION_REFUSED|status of 401|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE/;
    await using tab = await openTab(await box.address(view), { expected: away });
    const { page } = tab;
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    await box.kill();
    await page.getByRole("alert").filter({ hasText: "The server does not answer" }).waitFor();
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    await box.serve();
    const ended = page.getByRole("alert").filter({ hasText: "no longer knows this tab" });
    await ended.getByText("chronicle ui", { exact: true }).waitFor();
    await ended.getByRole("button", { name: "Enter a token" }).click();
    await page.getByRole("heading", { name: "Open this page from the command line" }).waitFor();
    await page.goto(await box.address(view));
    await page.getByRole("region", { name: "What happened, newest first" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("with a reader's token shows no button that changes anything, and the server refuses all the same", async () => {
    await using box = await servedStore(async (one) => {
      one.write("a.txt", "before\n");
      await one.must(["init"]);
      await one.turn("p1", "Change a file", { "a.txt": () => one.write("a.txt", "after\n") });
      one.write("a.txt", "later\n");
      await one.must(["snapshot", "-m", "by hand"]);
      await one.call(["undo", "--turn", "last"]);
    });
    const id = await box.workspace();
    const { code, value } = await box.json(["token", "create", "--role", "reader"]);
    expect([code, value]).toMatchObject([0, { role: "reader" }]);
    const { token } = value as { readonly token: string };
    await using tab = await openTab(`${box.url}/w/${id}`, { expected: /status of 40[13]/ });
    const { page } = tab;
    const enter = async (text: string): Promise<void> => {
      await page.getByLabel("Token").fill(text);
      await page.getByRole("button", { name: "Connect" }).click();
    };
    await enter("chr_not_a_token");
    await page.getByRole("alert").waitFor();
    await enter(token);
    await page.getByRole("button", { name: /^turn write_file: a\.txt/ }).click();
    await page.getByRole("complementary").getByRole("link", { name: "See the changes" }).click();
    await page.locator(".cm-changedLine", { hasText: "after" }).first().waitFor();
    const changing = /Take|Do it again|Restore|Keep|Settle|Go back to/;
    expect(await page.getByRole("button", { name: changing }).count()).toBe(0);
    await page.keyboard.press("u");
    expect(await page.getByRole("dialog").count()).toBe(0);
    for (const [path, shown] of [
      [`/w/${id}/file?path=a.txt&n=1`, "1 of "],
      [`/w/${id}/conflicts`, "Part 1 of 1"],
      [`/w/${id}/space`, "in all workspaces"],
    ] as const) {
      await tab.go(path);
      await page.getByText(shown).first().waitFor();
      expect([path, await page.getByRole("button", { name: changing }).allTextContents()]).toEqual([path, []]);
    }
    const status = await page.evaluate(async (path) => {
      const authorization = `Bearer ${sessionStorage.getItem("chronicle.token")}`;
      const headers = { authorization, "content-type": "application/json" };
      return (await fetch(path, { method: "POST", headers, body: "{}" })).status;
    }, `/v1/workspaces/${id}/undo`);
    expect([status, box.read("a.txt")]).toEqual([403, "later\n"]);
  });
});
