/** The work of `strongroom adopt …`, on a connection of its own beside that of the vault. */
import { type Adoption, type AdoptProgress, type AdoptStatus, adoptTable } from '../../adopt/index.ts'
import type { CommandOptions, CommandRun, CommandWork } from '../command.ts'
import { CommandFailure, EXIT, type ExitCode } from '../failure.ts'
import { openHostDatabase } from './host-database.ts'

export const adoptPlan: CommandWork = (run) =>
  withAdoption(run, async (adoption) => {
    const progress = run.output.progress('rows')
    const plan = await adoption.plan({ signal: run.signal, onProgress: (done) => progress({ done }) })
    run.output.result(plan, ({ table, vaultTable, columns, rows, findings, ok }) => [
      `${table}: ${rows} rows; ${Object.entries(columns)
        .map(([host, vault]) => `${host} to ${vaultTable}.${vault}`)
        .join(', ')}.`,
      ...findings.map(
        ({ level, message, keys = [] }) => `${level}: ${message}${keys.length === 0 ? '' : ` Keys: ${keys.join(' ')}`}`,
      ),
      ok ? 'It can be adopted.' : 'It cannot be adopted like this.',
    ])
    return plan.ok ? EXIT.done : EXIT.found
  })

export const adoptRun: CommandWork = (run) =>
  withAdoption(run, async (adoption) => {
    await adoption.run(watchOf(run))
    if (run.options.isSet('watch')) {
      run.output.note('All rows are in the vault. Changes of the application follow, until Ctrl-C.')
      await adoption.overlap(watchOf(run))
    }
    return report(run, await adoption.status())
  })

export const adoptStatus: CommandWork = (run) => withAdoption(run, async (adoption) => report(run, await adoption.status()))

export const adoptSwitch: CommandWork = (run) =>
  withAdoption(run, async (adoption) => {
    const quietSeconds = run.options.integer('quiet', { min: 0 }) ?? 0
    const switched = await adoption.switchOver({
      quietSeconds,
      leaveRefused: run.options.isSet('leaveRefused'),
      signal: run.signal,
    })
    run.output.result(switched, ({ lockMs }) => `The vault is the truth now. Writers were held off for ${Math.ceil(lockMs)} ms.`)
    return EXIT.done
  })

export const adoptFinish: CommandWork = async (run) => {
  const dropColumns = run.options.isSet('dropColumns')
  if (dropColumns && !run.options.isSet('yes'))
    throw new CommandFailure(EXIT.usage, '--drop-columns has no way back. Confirm it with --yes.')
  return withAdoption(run, async (adoption) => {
    const plaintext = run.options.isSet('tokens') ? 'token' : 'null'
    const finished = await adoption.finish({ ...watchOf(run), plaintext, clean: run.options.isSet('clean'), dropColumns })
    run.output.result(finished, ({ residue }) => [
      'The table has no plaintext. It can still be in:',
      ...residue.map((place) => `- ${place}`),
    ])
    return EXIT.done
  })
}

export const adoptBack: CommandWork = (run) =>
  withAdoption(run, async (adoption) => {
    await adoption.back(watchOf(run))
    run.output.result({ state: 'new' }, () => 'The table is as it was, and the vault has no record of it.')
    return EXIT.done
  })

async function withAdoption(run: CommandRun, work: (adoption: Adoption) => Promise<ExitCode>): Promise<ExitCode> {
  const config = await run.loadConfig()
  const vault = await run.openVault()
  const host = await openHostDatabase(config, run.environment)
  try {
    const { schema, limits } = config.config.vault
    const vaultTable = run.options.text('vaultTable')
    const columns = columnsOf(run.options)
    return await work(
      await adoptTable({
        vault,
        schema,
        database: host.database,
        table: run.args[0] ?? '',
        ...(vaultTable !== undefined && { vaultTable }),
        ...(columns !== undefined && { columns }),
        ...(limits?.maxRecords !== undefined && {
          maxRows: Math.min(limits.maxRecords, limits.maxPageSize ?? limits.maxRecords),
        }),
      }),
    )
  } finally {
    await host.close()
  }
}

/** Columns of the vault by those of the application. */
function columnsOf(options: CommandOptions): Readonly<Record<string, string>> | undefined {
  const pairs = options.list('column')
  if (pairs.length === 0) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const [host = '', vault = host] = pair.split('=')
      return [host, vault]
    }),
  )
}

function watchOf({ output, signal }: CommandRun) {
  const progress = output.progress('rows')
  let last = ''
  return {
    signal,
    onProgress({ state, done, total }: AdoptProgress) {
      if (state !== last) output.detail(`state ${state}`)
      last = state
      progress({ done, total })
    },
  }
}

function report({ output }: CommandRun, status: AdoptStatus): ExitCode {
  output.result(status, ({ state, done, total, notes, lagSeconds, quietSeconds, refusedCount, refused }) => [
    `state ${state}${state === 'new' ? '' : `, ${done === 0 ? '' : `${done} of `}${total} rows`}`,
    `${notes} changes pending, the oldest for ${lagSeconds} s; old instances quiet for ${quietSeconds} s`,
    `${refusedCount} rows refused`,
    ...refused.map(({ key, column, code }) => `- ${key} ${column ?? ''} ${code}`),
  ])
  return status.refusedCount > 0 ? EXIT.found : EXIT.done
}
