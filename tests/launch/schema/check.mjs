// check.mjs MODULES FILE.json: whether each object of the list in FILE is what the published schema of its kind says, and has no
// field that the schema does not know: the schema alone lets strangers pass, the types made of it do not.
import {createRequire} from 'node:module';
import {readFileSync, unlinkSync, writeFileSync} from 'node:fs';
import {execFileSync} from 'node:child_process';
import {dirname} from 'node:path';

const [modules, file] = process.argv.slice(2);
const required = createRequire(`${modules}/`);
const objects = JSON.parse(readFileSync(file, 'utf8'));
let source = '';
objects.forEach((object, i) => {
  const from = `kubernetes-models/${object.apiVersion}`;
  const {apiVersion, kind, ...data} = object;
  new (required(from)[kind])(data).validate();
  source += `import type {I${kind} as T${i}} from "${from}";\nexport const object${i}: T${i} = ${JSON.stringify(object)};\n`;
});
const types = `${dirname(modules)}/${process.pid}.ts`;
writeFileSync(types, source);
try {
  execFileSync(process.execPath, [`${modules}/typescript/bin/tsc`, '--noEmit', '--strict', '--skipLibCheck',
    '--moduleResolution', 'node16', '--module', 'node16', types], {stdio: 'inherit'});
} finally {
  unlinkSync(types);
}
console.log(`${objects.length} objects are what the schemas say: ${objects.map(object => object.kind).join(', ')}`);
