/** Constructors that are given something else than options: the error has a code, and quotes nothing of what was given. */
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { folderBlobs, s3Blobs } from '../../src/adapters/blobs/index.ts'
import { localKeys, localSigner, recoverableKeys, recoveryKeys } from '../../src/adapters/keys/index.ts'
import { openTelemetry } from '../../src/adapters/opentelemetry/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { clamdScanner } from '../../src/adapters/scanner/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { isVaultError } from '../../src/index.ts'

const SECRET = 'c2VjcmV0LWtleS1tYXRlcmlhbA=='

/** An object that throws the secret on each access. */
function throwing(): object {
  const fail = (): never => {
    throw new Error(SECRET)
  }
  return new Proxy({}, { get: fail, has: fail, ownKeys: fail, getOwnPropertyDescriptor: fail })
}

/** An object with one option whose getter throws the secret. */
function withGetter(option: string): object {
  return Object.defineProperty({}, option, { enumerable: true, get: () => throwing().toString() })
}

/** What is given in place of options. Undefined is left out: it means no options to `openTelemetry`. */
const WRONG: Readonly<Record<string, unknown>> = {
  'a text': SECRET,
  'a symbol': Symbol(SECRET),
  'a number': 7,
  'a bigint': 7n,
  null: null,
  'an object that throws': throwing(),
}

/** Each constructor, with one of its options. */
const CONSTRUCTORS: readonly (readonly [name: string, option: string, construct: (options: never) => unknown])[] = [
  ['localKeys', 'key', localKeys],
  ['localKeys', 'file', localKeys],
  ['localSigner', 'privateKey', localSigner],
  ['recoverableKeys', 'recipients', recoverableKeys],
  ['recoveryKeys', 'privateKey', recoveryKeys],
  ['sqliteStorage', 'filename', sqliteStorage],
  ['postgresStorage', 'connectionString', postgresStorage],
  ['postgresStorage', 'schema', postgresStorage],
  ['openTelemetry', 'tracer', openTelemetry],
  ['clamdScanner', 'host', clamdScanner],
  ['clamdScanner', 'port', clamdScanner],
  ['clamdScanner', 'socket', clamdScanner],
  ['clamdScanner', 'timeoutMs', (options: never) => clamdScanner({ socket: '/run/clamd' }, options)],
  ['clamdScanner', 'maxBytes', (options: never) => clamdScanner({ socket: '/run/clamd' }, options)],
  ['folderBlobs', 'directory', folderBlobs],
  ['s3Blobs', 'client', s3Blobs],
  ['s3Blobs', 'bucket', s3Blobs],
]

/** Calls a constructor with a value of any type, and returns its error. */
function errorOf(construct: (options: never) => unknown, given: unknown): unknown {
  try {
    return Reflect.apply(construct, undefined, [given])
  } catch (error) {
    return error
  }
}

for (const [name, option, construct] of CONSTRUCTORS) {
  const wrong = { ...WRONG, 'a getter that throws': withGetter(option), 'a symbol as an option': { [option]: Symbol(SECRET) } }
  for (const [what, given] of Object.entries(wrong)) {
    it(`${name} refuses ${what} (${option}), and does not quote it`, () => {
      const error = errorOf(construct, given)
      expect(isVaultError(error, 'invalid_request')).toBe(true)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET)
    })
  }
}
