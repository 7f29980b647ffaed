// lab: runs, checks and explains the course. ./lab builds this program when it has to and hands over to it.
#include "lab/command.h"

int main(int argc, char** argv) {
    return lab::run_lab(argc, argv);
}
