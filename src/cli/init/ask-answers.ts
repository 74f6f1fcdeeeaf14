/** The questions of `init` on a terminal. */

import process from 'node:process'
import { isCancel, select, text } from '@clack/prompts'
import { CommandFailure, EXIT } from '../failure.ts'

/** What `init` needs to know. */
export interface InitAnswers {
  readonly id: string
  readonly storage: 'sqlite' | 'postgres'
  /** Environment variable with the address of PostgreSQL. */
  readonly postgresEnv: string
}

/** Asks for each answer, with the given one as the default. Throws `CommandFailure` where no person can answer. */
export async function askAnswers(given: InitAnswers): Promise<InitAnswers> {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true)
    throw new CommandFailure(EXIT.usage, 'There is no terminal to ask on. Specify --yes to take the defaults.')
  const id = answered(
    await text({
      message: 'Id of the vault. It can never change.',
      initialValue: given.id,
      validate: (value) =>
        /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(value ?? '') ? undefined : 'Letters, digits, dots, dashes.',
    }),
  )
  const storage = answered(
    await select<InitAnswers['storage']>({
      message: 'Where is it stored?',
      initialValue: given.storage,
      options: [
        { value: 'sqlite', label: 'SQLite', hint: 'a file in this folder' },
        { value: 'postgres', label: 'PostgreSQL', hint: 'a schema of a database' },
      ],
    }),
  )
  if (storage === 'sqlite') return { ...given, id, storage }
  const postgresEnv = answered(
    await text({ message: 'Environment variable with the address of the database.', initialValue: given.postgresEnv }),
  )
  return { id, storage, postgresEnv }
}

function answered<Value>(answer: Value | symbol): Exclude<Value, symbol> {
  if (isCancel(answer)) throw new CommandFailure(EXIT.interrupted, 'Nothing was made.')
  return answer as Exclude<Value, symbol>
}
