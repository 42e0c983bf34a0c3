/** The language server's program: speaks over what it was started with (--node-ipc, --stdio, --socket). */
import { parseArgs } from 'node:util';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { optimiseLate } from '../late-optimisation';
import { startServer } from './server';

optimiseLate();
// the connection reads the arguments that are its own
const codeCache = parseArgs({ options: { 'code-cache': { type: 'string' } }, strict: false }).values['code-cache'];
const connection = createConnection(ProposedFeatures.all);
// What escapes every guard is told in one line; the editor's session goes on.
process.on('uncaughtException', (error) => connection.console.error(`server: ${error.message.split('\n')[0]}`));
process.on('unhandledRejection', (reason) => connection.console.error(`server: ${String(reason).split('\n')[0]}`));
startServer(connection, typeof codeCache === 'string' ? codeCache : undefined);
connection.listen();
