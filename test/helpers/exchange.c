/* Exchanges two paths in a loop, atomically: the attacker of the tests about links. Says a line when it has begun. */
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
