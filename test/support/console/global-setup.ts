/** Builds the console once before the tests, if a source of it is newer than what is built. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const TOP = join(import.meta.dirname, '../../..')

export default function setup(): void {
  const built = join(TOP, 'dist/console/index.html')
  const sources = readdirSync(join(TOP, 'src/console'), { recursive: true, encoding: 'utf8' }).map(
    (name) => `src/console/${name}`,
  )
  const newest = Math.max(...[...sources, 'vite.console.config.ts'].map((name) => statSync(join(TOP, name)).mtimeMs))
  if (existsSync(built) && statSync(built).mtimeMs > newest) return
  execFileSync('npm', ['run', '-s', 'build:console'], { cwd: TOP, stdio: 'inherit' })
}
