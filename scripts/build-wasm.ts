/** Compiles the WebAssembly module of the keys adapter from its AssemblyScript source into `wasm-bytes.ts`. */
import { readFile, writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import asc from 'assemblyscript/asc'

const SOURCE = new URL('../src/adapters/keys/wasm/', import.meta.url)
const TARGET = new URL('../src/adapters/keys/wasm/wasm-bytes.ts', import.meta.url)
/** Pages of 64 KiB the module's memory has, all of its life. `src/adapters/keys/wasm/wasm.ts` divides it. */
const PAGES = 40

/** The compiled module, and the same as text. */
interface BuiltWasm {
  readonly bytes: Uint8Array
  readonly text: string
}

/**
 * Compiles the module. Sources end in `.as`, so that no tool takes them for TypeScript; the compiler asks for `.ts`. A test can have each of
 * them edited.
 */
export async function buildWasm(edit: (source: string) => string = (source) => source): Promise<BuiltWasm> {
  const written: Uint8Array[] = []
  const texts: string[] = []
  const flags = [
    'wasm.ts',
    '--outFile',
    'wasm.wasm',
    '--textFile',
    'wasm.wat',
    '-O3',
    '--noAssert',
    '--runtime',
    'stub',
    '--use',
    'abort=',
    '--enable',
    'simd',
    '--enable',
    'relaxed-simd',
  ]
  const result = await asc.main([...flags, '--initialMemory', `${PAGES}`, '--maximumMemory', `${PAGES}`], {
    readFile: async (name: string) => {
      const source = await readSource(name)
      return source === null ? null : edit(source)
    },
    writeFile: (_name: string, contents: unknown) => {
      if (contents instanceof Uint8Array) written.push(contents)
      if (typeof contents === 'string') texts.push(contents)
    },
  })
  const [bytes] = written
  if (result.error !== null) throw new Error(`The module does not compile: ${result.stderr.toString()}`)
  const [text] = texts
  if (bytes === undefined || text === undefined) throw new Error('The compiler wrote no module')
  return { bytes, text }
}

async function readSource(name: string): Promise<string | null> {
  if (!name.endsWith('.ts') || name.includes('/')) return null
  return readFile(new URL(name.replace(/\.ts$/, '.as'), SOURCE), 'utf8')
}

/** The TypeScript file that carries the module: one string, so that it travels in any bundle and needs no file at run time. */
export function renderWasmFile(bytes: Uint8Array): string {
  const lines = ['/** The compiled module, made by scripts/build-wasm.ts from wasm/*.as; not edited by hand. */']
  return `${lines.join('\n')}\nexport const wasmBytes =\n  '${Buffer.from(bytes).toString('base64')}'\n`
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { bytes } = await buildWasm()
  await writeFile(TARGET, renderWasmFile(bytes))
  console.log(`wasm: ${bytes.length} bytes`)
}
