import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

const UNSAFE = { code: 6, value: { error: { code: "UNSAFE" } } };

/** Makes folders in the sandbox's home. */
function inHome(box: Sandbox, ...names: string[]): void {
  for (const name of names) mkdirSync(join(box.folder, "home", name), { recursive: true });
}

describe("Truth 38: a person's own folders are not taken for a project", () => {
  test.each(["Desktop", "Documents", "Downloads"])(
    "~/%s is refused as unsafe unless --force is given",
    async (name) => {
      using box = new Sandbox();
      inHome(box, name);
      const refused = await box.json(["init"], { cwd: `home/${name}` });
      expect(refused).toMatchObject(UNSAFE);
      await box.must(["init", "--force"], { cwd: `home/${name}` });
    },
  );

  test("folders that user-dirs.dirs names in another language are refused, and so is the target of a link ~/Documents", async () => {
    using box = new Sandbox();
    inHome(box, "Schreibtisch", "Dokumente");
    mkdirSync(join(box.folder, "data", "Herunter geladenes"), { recursive: true });
    const dirs = [
      "# written by xdg-user-dirs-update",
      'XDG_DESKTOP_DIR="$HOME/Schreibtisch"',
      'XDG_DOCUMENTS_DIR="$HOME/Dokumente/"',
      `XDG_DOWNLOAD_DIR="${box.folder}/data/Herunter geladenes"`,
      'XDG_MUSIC_DIR="$HOME/Musik"',
    ];
    writeFileSync(join(box.folder, "config", "user-dirs.dirs"), `${dirs.join("\n")}\n`);
    for (const cwd of ["home/Schreibtisch", "home/Dokumente", "data/Herunter geladenes"]) {
      expect(await box.json(["init"], { cwd })).toMatchObject(UNSAFE);
    }
    mkdirSync(join(box.folder, "data", "files"));
    symlinkSync(join(box.folder, "data", "files"), join(box.folder, "home", "Documents"));
    expect(await box.json(["init"], { cwd: "data/files" })).toMatchObject(UNSAFE);
  });

  test("the home folder is refused by its real path if $HOME is a link", async () => {
    using box = new Sandbox();
    mkdirSync(join(box.folder, "real-home"));
    symlinkSync(join(box.folder, "real-home"), join(box.folder, "linked"));
    const env = { HOME: join(box.folder, "linked") };
    const ran = box.run(["--json", "init"], { cwd: "real-home", env });
    expect(ran.code, ran.stdout + ran.stderr).toBe(6);
    expect(`${ran.stdout}${ran.stderr}`).toContain("UNSAFE");
  });

  test("a folder within one of them is accepted as a project, and so is a single file that is named", async () => {
    using box = new Sandbox();
    inHome(box, "Documents/project", "Desktop");
    writeFileSync(join(box.folder, "home", "Desktop", "notes.md"), "notes");
    await box.must(["init"], { cwd: "home/Documents/project" });
    await box.must(["init", "notes.md"], { cwd: "home/Desktop" });
    writeFileSync(join(box.folder, "home", ".profile"), "PATH=/bin");
    await box.must(["init", ".profile"], { cwd: "home" });
  });
});
