/** `warplens`: the headless face of the analysis. */
import * as fs from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { optimiseLate } from '../late-optimisation';
import { answerLines } from './batch';
import { type CheckOptions, check, checkFormats, failOnLevels, type Output } from './check';
import { occupancyAnswer, occupancyLine } from './occupancy';
import { addSharedOptions, checkFilesOf, wholeNumber } from './options';
import { patternLine } from './pattern';
import { exitStatus, UsageProblem } from './problem';
import { type SimulateOptions, simulate, simulateFormats } from './simulate';

declare const WARPLENS_VERSION: string;

const output: Output = {
  write: (text) => void process.stdout.write(text),
  complain: (line) => void process.stderr.write(`warplens: ${line}\n`),
  hasColour: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
};

const isFile = (file: string): boolean => fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true;

/** Sets the exit status instead of ending the process, so that what was written reaches its reader. */
function end(status: number): void {
  process.exitCode = status;
}

interface OccupancyOptions {
  readonly batch?: boolean;
  readonly cc?: string;
  readonly threads?: number;
  readonly registers?: number;
  readonly shared: number;
}

async function occupancy({ batch, cc, threads, registers, shared }: OccupancyOptions): Promise<void> {
  if (batch) return answerLines(process.stdin, process.stdout, occupancyLine);
  if (cc === undefined || threads === undefined || registers === undefined) {
    throw new UsageProblem('occupancy: give --cc, --threads and --registers, or --batch');
  }
  const answer = occupancyAnswer({ cc, threads, registers, shared });
  if ('error' in answer) throw new UsageProblem(`occupancy: ${answer.error}`);
  output.write(`${JSON.stringify(answer, null, 2)}\n`);
}

async function pattern({ batch }: { readonly batch?: boolean }): Promise<void> {
  if (!batch) throw new UsageProblem('pattern: give --batch, and one access a line on standard input');
  await answerLines(process.stdin, process.stdout, patternLine);
}

function commandLine(): Command {
  const program = new Command('warplens')
    .description('See what the warps of a CUDA kernel do: bank conflicts, uncoalesced accesses, occupancy.')
    .version(WARPLENS_VERSION)
    .showSuggestionAfterError()
    .exitOverride()
    // commander's messages begin with "error: "; ours are one line that begins with the program's name
    .configureOutput({
      outputError: (text, write) =>
        write(
          `warplens: ${text
            .replace(/^error: /, '')
            .trim()
            .replace(/\s*\n\s*/g, ' ')}\n`,
        ),
    });

  addSharedOptions(program.command('check').argument('<paths...>', 'files, or folders to search for .cu and .cuh'))
    .description('report findings in files and folders')
    .addOption(new Option('--format <format>', 'how to print the report').choices(checkFormats).default('text'))
    .addOption(
      new Option('--fail-on <severity>', 'exit with 1 from this severity on').choices(failOnLevels).default('error'),
    )
    .addOption(
      new Option('--threads <n>', 'threads to analyse on (default: a core for every four files)').argParser(
        wholeNumber(1),
      ),
    )
    .action(async (paths: string[], options: CheckOptions) => {
      checkFilesOf(options, isFile);
      end(await check(paths, options, output));
    });

  addSharedOptions(program.command('simulate').argument('<file>'))
    .description('simulate one kernel and print all its accesses')
    .addOption(new Option('--format <format>', 'how to print the report').choices(simulateFormats).default('text'))
    .action(async (file: string, options: SimulateOptions) => {
      if (options.kernel === undefined) throw new UsageProblem('simulate: give --kernel <name>');
      checkFilesOf(options, isFile);
      end(await simulate(file, options, output));
    });

  program
    .command('occupancy')
    .description('the occupancy of a launch as JSON')
    .option('--batch', 'read one JSON object a line')
    .option('--cc <x.y>', 'compute capability')
    .addOption(new Option('--threads <n>', 'threads a block').argParser(wholeNumber(1)))
    .addOption(new Option('--registers <n>', 'registers a thread').argParser(wholeNumber(0)))
    .addOption(new Option('--shared <bytes>', 'shared memory a block').argParser(wholeNumber(0)).default(0))
    .action(occupancy);

  program
    .command('pattern')
    .description('wavefronts, sectors and transactions of single warp accesses as JSON')
    .option('--batch', 'read one JSON object a line')
    .action(pattern);

  return program;
}

optimiseLate();

// a reader that has seen enough (head) is no error
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitStatus.clean);
  throw error;
});

commandLine()
  .parseAsync()
  .catch((error: unknown) => {
    if (error instanceof CommanderError) {
      end(error.exitCode === 0 ? exitStatus.clean : exitStatus.wrongUsage);
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    output.complain(error instanceof UsageProblem ? message : `internal error: ${message.split('\n')[0]}`);
    end(exitStatus.wrongUsage);
  });
