/** What a command is: a description that `--help` prints without loading it, and the work, which is loaded when it runs. */
import type { AnySession, AnyVault } from './config/any-vault.ts'
import type { LoadedConfig } from './config/load-config.ts'
import type { VaultPorts } from './config/open-vault.ts'
import type { ExitCode } from './failure.ts'
import type { Output } from './output/output.ts'

/** An option: its flags as `commander` reads them (`--port <number>`), what it does, and its default as help shows it. */
export interface OptionDescription {
  readonly flags: string
  readonly text: string
  /** True if it can be given several times. */
  readonly isList?: boolean
}

/** A command, without its work. */
export interface CommandDescription {
  /** One or two words: `serve`, `audit verify`. */
  readonly name: string
  /** Arguments in the order of the line, in the notation of `commander`: `<table>`, `[file]`, and `[ids...]` for the last one. */
  readonly args?: readonly { readonly name: string; readonly text: string }[]
  /** One sentence, as help and docs/cli.md print it. */
  readonly summary: string
  readonly options?: readonly OptionDescription[]
  /** Lines to type, at least one. */
  readonly examples: readonly string[]
  /** Loads the work. */
  load(): Promise<CommandWork>
}

/** The work of a command. Returns its exit code; undefined for 0. Throws `CommandFailure` or a `VaultError`. */
export type CommandWork = (run: CommandRun) => Promise<ExitCode | undefined>

/** The options of a line. Every name is that of the long flag in camel case. */
export interface CommandOptions {
  /** Returns the text of an option; undefined without it. */
  text(name: string): string | undefined
  /** Returns the integer of an option. Throws a usage failure for anything else, or outside of the bounds. */
  integer(name: string, bounds?: { readonly min?: number; readonly max?: number }): number | undefined
  /** Returns one of the words. Throws a usage failure for another one. */
  word<const Word extends string>(name: string, words: readonly Word[]): Word | undefined
  /** Returns the texts of an option that can be given several times. */
  list(name: string): readonly string[]
  isSet(name: string): boolean
}

/** What a command works with. */
export interface CommandRun {
  /** The arguments, in order, those of a list one by one; undefined for those left out. */
  readonly args: readonly (string | undefined)[]
  readonly options: CommandOptions
  readonly output: Output
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
  /** The environment, for secrets that the configuration names. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Reads and checks the configuration, once. */
  loadConfig(): Promise<LoadedConfig>
  /** Opens the vault of the configuration, as it is stored unless `serves` is set. It is closed when the command ends. `ports` are added to those of the configuration. */
  openVault(ports?: VaultPorts): Promise<AnyVault>
  /** Opens the vault, and returns a session of the caller that the line names: `--role`, or the API key of `--api-key-env`. */
  openSession(): Promise<AnySession>
}
