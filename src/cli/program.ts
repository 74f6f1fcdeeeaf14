/** From arguments to a run of one command: help, options, the configuration, the vault, signals, and what closes at the end. */
import { Command, CommanderError } from 'commander'
import type { CommandDescription, CommandOptions, CommandRun, OptionDescription } from './command.ts'
import type { AnyVault } from './config/any-vault.ts'
import type { LoadedConfig } from './config/load-config.ts'
import { CommandFailure, EXIT, type ExitCode } from './failure.ts'
import { createOutput } from './output/output.ts'
import type { TextStream } from './output/text-stream.ts'
import { VERSION } from './version.ts'

/** What the program uses of the process. */
export interface ProgramPorts {
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Calls back at a signal that asks the process to end. */
  onInterrupt(interrupt: () => void): void
}

/** The program: runs one line. */
export interface Program {
  /** Returns the exit code. Throws `CommandFailure`, a `VaultError`, or an error of the system. */
  run(line: readonly string[]): Promise<ExitCode>
}

/** Options of every command. */
const SHARED = [
  ['--config <file>', 'the configuration (default: strongroom.config.ts, .js or .json of this folder)'],
  ['--json', 'print JSON, one value or one line a record'],
  ['--verbose', 'say more on standard error'],
  ['--role <name>', 'act with this role; can be given several times (default: VAULT_OWNER)'],
  ['--api-key-env <name>', 'act as the API key in this environment variable'],
  ['--purpose <text>', 'say why, such as a ticket: events record it, and it must name no person'],
] as const

const EXIT_TEXT = `Exit codes: 0 done, 1 something wrong was found, 2 wrong arguments, 3 no or wrong configuration, 4 refused by the vault, 5 not available, 6 a defect, 130 interrupted.`

/** Makes the program of these commands. */
export function createProgram(commands: readonly CommandDescription[], ports: ProgramPorts): Program {
  return {
    async run(line) {
      let exitCode: ExitCode = EXIT.done
      const root = rootCommand(ports)
      for (const description of commands) {
        addCommand(root, description, async (args, given) => {
          exitCode = await runCommand(description, { args, given, ports })
        })
      }
      try {
        await root.parseAsync(line, { from: 'user' })
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error
        return error.exitCode === 0 ? EXIT.done : EXIT.usage
      }
      return exitCode
    },
  }
}

function rootCommand({ stdout, stderr }: ProgramPorts): Command {
  return new Command('strongroom')
    .description('Runs a data privacy vault, looks at it, and moves data in and out.')
    .version(VERSION, '--version')
    .addHelpText('after', `\n${EXIT_TEXT}\nEvery command has --help with an example.\n`)
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showSuggestionAfterError(true)
    .exitOverride()
}

type Action = (args: readonly (string | undefined)[], given: Readonly<Record<string, unknown>>) => Promise<void>

/** Adds a command below the group of its first word. */
function addCommand(
  root: Command,
  { name, args = [], summary, options = [], examples }: CommandDescription,
  action: Action,
): void {
  const [first = '', second] = name.split(' ')
  const group = root.commands.find((one) => one.name() === first)
  const parent = second === undefined ? root : (group ?? root.command(first).description(`${first} …`))
  const command = parent.command(second ?? first).description(summary)
  for (const { name: argument, text } of args) command.argument(argument, text)
  const shared = SHARED.map(([flags, text]): OptionDescription => ({ flags, text, isList: flags === '--role <name>' }))
  for (const { flags, text, isList = false } of [...options, ...shared]) {
    if (isList) command.option(flags, text, (value: string, list: readonly string[] = []) => [...list, value])
    else command.option(flags, text)
  }
  command.addHelpText('after', `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((one) => `  ${one}`).join('\n')}\n`)
  command.action(async (...values: unknown[]) => {
    const given = values
      .slice(0, args.length)
      .flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value]))
      .map((value) => (typeof value === 'string' ? value : undefined))
    await action(given, command.opts())
  })
  if (second !== undefined) parent.description(descriptionOf(parent))
}

/** A group is described by the commands it has. */
function descriptionOf(group: Command): string {
  return group.commands.map((one) => one.name()).join(', ')
}

async function runCommand(
  description: CommandDescription,
  { args, given, ports }: { args: CommandRun['args']; given: Readonly<Record<string, unknown>>; ports: ProgramPorts },
): Promise<ExitCode> {
  const interruption = new AbortController()
  ports.onInterrupt(() => interruption.abort())
  const options = readCommandOptions(given)
  const output = createOutput({ ...ports, isJson: options.isSet('json'), isVerbose: options.isSet('verbose') })
  const closing: (() => Promise<void>)[] = []
  let loading: Promise<LoadedConfig> | undefined
  const run: CommandRun = {
    args,
    options,
    output,
    signal: interruption.signal,
    environment: ports.environment,
    loadConfig() {
      loading ??= import('./config/load-config.ts').then(({ loadConfig }) =>
        loadConfig({ file: options.text('config'), note: output.detail }),
      )
      return loading
    },
    async openVault(vaultPorts) {
      const { openVault } = await import('./config/open-vault.ts')
      const vault: AnyVault = await openVault(await run.loadConfig(), {
        environment: ports.environment,
        signal: interruption.signal,
        note: output.note,
        ...vaultPorts,
      })
      closing.push(() => vault.close())
      return vault
    },
    async openSession() {
      const { openSession } = await import('./config/open-session.ts')
      return openSession(await run.openVault(), run)
    },
  }
  try {
    const work = await description.load()
    return (await work(run)) ?? EXIT.done
  } catch (error) {
    if (interruption.signal.aborted && !(error instanceof CommandFailure)) throw interrupted()
    throw error
  } finally {
    output.endProgress()
    for (const close of closing.reverse()) await close()
  }
}

function interrupted(): CommandFailure {
  return new CommandFailure(EXIT.interrupted, 'Interrupted. What was done before stays done; run the command again to go on.')
}

function readCommandOptions(given: Readonly<Record<string, unknown>>): CommandOptions {
  const flagOf = (name: string) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  const options: CommandOptions = {
    text(name) {
      const value = given[name]
      return typeof value === 'string' ? value : undefined
    },
    integer(name, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
      const text = options.text(name)
      if (text === undefined) return undefined
      const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      if (value >= min && value <= max) return value
      const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`
      throw new CommandFailure(EXIT.usage, `${flagOf(name)} must be an integer ${range}.`)
    },
    word(name, words) {
      const text = options.text(name)
      if (text === undefined) return undefined
      const word = words.find((one) => one === text)
      if (word === undefined) throw new CommandFailure(EXIT.usage, `${flagOf(name)} must be one of: ${words.join(', ')}.`)
      return word
    },
    list(name) {
      const value = given[name]
      return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
    },
    isSet: (name) => given[name] !== undefined && given[name] !== false,
  }
  return options
}
