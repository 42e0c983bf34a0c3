/** What a caller asks of the analysis: pure data and functions, so that editor, command line and tests share one entry. */
import type { MachineCode } from '../cubin/machine-access';
import type { FileReport, KernelReport } from '../report/report';

export interface CompiledKernel {
  readonly mangled: string;
  readonly registers: number;
  readonly stackBytes: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
  readonly sharedBytes: number;
  readonly barriers: number;
  /** The text has changed since it was compiled. */
  readonly isStale?: boolean;
}

/** A text that is compiled on its own, as it is read: with its own include folders and macros. */
export interface SourceUnit {
  readonly path: string;
  readonly text: string;
  readonly defines: ReadonlyMap<string, string>;
  readonly include: AnalysisRequest['include'];
}

/** Another source file of the workspace. */
export interface OtherFile extends SourceUnit {
  /** Folders to climb from the file under analysis until the other one lies below. */
  readonly distance: number;
  /** A file's present text. */
  readonly read: (path: string) => string | undefined;
}

/** What a compiler made of a text of the file, for the capability asked for. */
export interface Compilation {
  /** Equal ids: the same compilation. */
  readonly id: string;
  /** The file's text as it was compiled; a kernel that has changed since keeps the source tier's result. */
  readonly text: string;
  /** Reads an include as the compiler did; where absent includes are read as those of the request. */
  readonly include?: AnalysisRequest['include'];
  readonly ptx?: string;
  /** What the assembler made of the PTX. */
  readonly machine?: MachineCode;
  /** Registers, spills and shared memory of the kernels. */
  readonly kernels?: readonly CompiledKernel[];
}

export interface AnalysisOptions {
  /** e.g. '9.0' */
  readonly computeCapability: string;
  readonly defines: ReadonlyMap<string, string>;
  /** Launch overrides: option of the command line or setting. */
  readonly block?: readonly [number, number, number];
  readonly grid?: readonly [number, number, number];
  readonly dynamicSharedBytes?: number;
  readonly registersPerThread?: number;
  /** `-maxrregcount` of the build. */
  readonly maxRegisters?: number;
  /** What the program is started with; where it is missing argc is 1, and what argv holds behind the program's name is not known. */
  readonly programArguments?: readonly string[];
  /** The file that says so, where nobody has set them. */
  readonly programArgumentsFile?: string;
  /** `--assume n=4096` */
  readonly assume: ReadonlyMap<string, number>;
  /** Analyse this kernel only. */
  readonly kernel?: string;
  /** What a compiler said of the file's kernels for this capability. */
  readonly compiled?: readonly CompiledKernel[];
  /** With curves of occupancy, for one kernel's full report. */
  readonly withCurves?: boolean;
  /** Device for the time estimate, e.g. 'H200'. */
  readonly device?: string;
  /** false: what kernels load is not looked for in the host's code; 'ready': only where that was done before. */
  readonly followData?: boolean | 'ready';
  /** Times the work that an editor may wait for; 1 when not given. */
  readonly patience?: number;
  /** Milliseconds after which the kernels that are left have an editor's work; never when not given. */
  readonly patienceEndsAfter?: number;
}

export interface AnalysisRequest {
  readonly path: string;
  readonly text: string;
  readonly options: AnalysisOptions;
  /** Reads an include; undefined when it is not to be had. */
  readonly include: (name: string, quoted: boolean, from: string) => { path: string; text: string } | undefined;
  /**
   * The source file that includes this one, where it is a header: it is understood from there. Its include gives this path for
   * the header.
   */
  readonly root?: SourceUnit;
  /** Source files of the workspace that mention one of the names, the nearest first, without those known. */
  readonly others?: (names: readonly string[], known: ReadonlySet<string>) => Iterable<OtherFile>;
  /** Source files of the workspace that define a function of one of the names, the nearest first, without those known. */
  readonly definers?: (names: readonly string[], known: ReadonlySet<string>) => Iterable<OtherFile>;
  /** Gives what a file holds that the program reads, by its name there; the same bytes as long as it is not changed. */
  readonly dataFile?: (name: string) => Uint8Array | undefined;
  /** Where a compiler has answered. */
  readonly compilation?: Compilation;
  /** True stops the analysis with what there is. */
  readonly cancelled?: () => boolean;
  /** Told when the text is parsed and when a kernel is done, for progress and for measuring. */
  readonly onParsed?: () => void;
  /** Told when work for the whole file begins (true) and ends between two kernels: the run of its host code, its launches under a sample. For measuring. */
  readonly onFileWork?: (isBegin: boolean) => void;
  readonly onKernel?: (report: KernelReport) => void;
  /** Behind each kernel but the last: `report` makes what is known by then, without notes. */
  readonly onPart?: (report: () => FileReport) => void;
  /** Told of an error of ours that cost an answer its data, and nothing else: who measures wants to know. */
  readonly onDefect?: (error: unknown) => void;
}
