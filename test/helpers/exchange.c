/* Exchanges two paths atomically, in a loop. Tests about links use it as an attacker. Prints a line at its start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  if (write(1, "begun\n", 6) != 6) return 1;
  for (;;) {
    if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) != 0) return 1;
  }
}
