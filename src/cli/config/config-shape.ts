/** What a configuration must be, so that a wrong member is named by its path. */
import * as z from 'zod'
import type { Config } from './define-config.ts'
import { httpShape, serverShape } from './server-shape.ts'

const secretShape = oneOf({ env: z.string().min(1).optional(), file: z.string().min(1).optional() })

const storageShape = oneOf({
  sqlite: z
    .strictObject({
      filename: z.string().min(1),
      synchronous: z.enum(['full', 'normal']).optional(),
      driver: z.enum(['better-sqlite3', 'node:sqlite']).optional(),
    })
    .optional(),
  postgres: z
    .strictObject({
      connectionString: secretShape,
      schema: z.string().optional(),
      maxConnections: z.int().min(1).optional(),
      preparedStatements: z.boolean().optional(),
    })
    .optional(),
})

const keysShape = oneOf(
  {
    file: z.string().min(1).optional(),
    env: z.string().min(1).optional(),
    transit: z
      .strictObject({
        url: z.url(),
        key: z.string(),
        token: secretShape,
        mount: z.string().optional(),
        namespace: z.string().optional(),
      })
      .optional(),
    pkcs11: z.strictObject({ module: z.string(), tokenLabel: z.string(), keyLabel: z.string(), pin: secretShape }).optional(),
  },
  { olderFiles: z.array(z.string().min(1)).optional(), olderEnvs: z.array(z.string().min(1)).optional() },
)

const clamdShape = z.union(
  [z.strictObject({ host: z.string().min(1), port: z.int().min(1).max(65_535) }), z.strictObject({ socket: z.string().min(1) })],
  'must be { host, port } or { socket }',
)

/** The library checks what is in it itself, and knows more of it. */
const objectOf = (message: string) => z.custom<object>((value) => typeof value === 'object' && value !== null, message)

const vaultShape = z.strictObject({
  id: z.string().min(1).max(128),
  schema: objectOf('must be the result of defineSchema, or the path of a module that exports it as `schema`'),
  storage: dataOrFunction(storageShape),
  keys: dataOrFunction(keysShape),
  policy: z.record(z.string(), z.array(z.unknown())).optional(),
  accountId: z.string().optional(),
  keyFingerprint: z.string().optional(),
  revokeCheckMs: z.int().optional(),
  cryptography: z.enum(['wasm', 'node']).optional(),
  audit: z.enum(['on', 'off']).optional(),
  limits: objectOf('must be an object').optional(),
  blobs: dataOrFunction(z.strictObject({ directory: z.string().min(1) })).optional(),
  scanner: dataOrFunction(z.strictObject({ clamd: clamdShape })).optional(),
  onInfected: z.enum(['quarantine', 'delete']).optional(),
})

const configShape = z.strictObject({ vault: vaultShape, http: httpShape.optional(), server: serverShape.optional() })

/** What is wrong with a configuration: one line for each member, with its path. Empty if nothing is. */
export function configFaults(given: unknown): string[] {
  const { error } = configShape.safeParse(given)
  return (error?.issues ?? []).map(
    ({ path, message }) => `${path.length === 0 ? 'the configuration' : path.join('.')}: ${message}`,
  )
}

/** True if it is a configuration. */
export function isConfig(given: unknown): given is Config {
  return configFaults(given).length === 0
}

/**
 * An object with exactly one of some members, and any of the others. A union would hide which member of which form is wrong: its only message
 * is "invalid input", without a path.
 */
function oneOf<Choices extends z.ZodRawShape, Others extends z.ZodRawShape>(choices: Choices, others?: Others) {
  const names = Object.keys(choices)
  return z.strictObject({ ...choices, ...others }).check(({ value, issues }) => {
    const given = names.filter((name) => Reflect.get(value, name) !== undefined)
    if (given.length === 1) return
    issues.push({ code: 'custom', input: value, message: `must have exactly one of: ${names.join(', ')}` })
  })
}

function dataOrFunction<Shape extends z.ZodType>(shape: Shape) {
  const isFunction = z.custom<() => unknown>((value) => typeof value === 'function')
  return z.unknown().check((context) => {
    if (isFunction.safeParse(context.value).success) return
    for (const { path, message } of shape.safeParse(context.value).error?.issues ?? []) {
      context.issues.push({ code: 'custom', input: context.value, path: [...path], message })
    }
  })
}
