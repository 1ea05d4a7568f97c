/* The commands of motifd other than `serve`. argv[0] is the name of the command. */
#ifndef MOTIF_SERVER_COMMANDS_COMMANDS_H
#define MOTIF_SERVER_COMMANDS_COMMANDS_H

/* Each function returns an exit code of server/daemon.h. */
int command_backup(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_check_config(int argc, char **argv);
int command_check_database(int argc, char **argv);
int command_compact(int argc, char **argv);
int command_dataset(int argc, char **argv);
int command_restore(int argc, char **argv);
int command_token(int argc, char **argv);
int command_verify(int argc, char **argv);

#endif
