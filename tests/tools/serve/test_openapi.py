"""The description of the server generates a client in Java that compiles, and whose calls the server answers."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli import STORM, STORM_NEAR

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.tools.serve.conftest import Server

GENERATOR = "7.14.0"
MAVEN = shutil.which("mvn")
PROGRAM = """
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DocumentsApi;
import org.openapitools.client.model.*;
import java.util.List;
import java.util.Map;

public class Program {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        DocumentsApi documents = new DocumentsApi(client);
        Outcome outcome = documents.addDocument(new AddOne().document(Map.of("id", "a", "text", arguments[1])));
        Matches matches = documents.findSimilar(new Similar().text(arguments[2]));
        int size = documents.readGroup("a").getSize();
        System.out.println(outcome.getOutcome() + " " + matches.getMatches().get(0).getId() + " " + size);
        try {
            documents.searchGroups(new GroupSearch().query(Map.of("match", Map.of("text", arguments[1])))
                .sort(List.of(Map.of("date", "desc"))).from(0).size(5).fields(List.of("text")));
        } catch (ApiException refused) {
            System.out.println(refused.getResponseBody().contains("use Elasticsearch or OpenSearch"));
        }
    }
}
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, f"{command}: {done.stdout[-3_000:]}{done.stderr[-3_000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(MAVEN is None or shutil.which("javac") is None, reason="needs a JDK and Maven")
def test_a_client_that_is_generated_for_java_compiles_and_asks(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve()
    (tmp_path / "openapi.json").write_text(json.dumps(server.call("/openapi.json").json), encoding="utf-8")
    jar = f"org.openapitools:openapi-generator-cli:{GENERATOR}"
    maven = (str(MAVEN), "-q", "-B")
    run(*maven, "dependency:copy", f"-Dartifact={jar}", f"-DoutputDirectory={tmp_path}", cwd=tmp_path)
    run(
        *("java", "-jar", f"openapi-generator-cli-{GENERATOR}.jar", "generate", "-i", "openapi.json"),
        *("-g", "java", "--library", "native", "-o", "client"),
        cwd=tmp_path,
    )
    client = tmp_path / "client"
    (client / "src/main/java/Program.java").write_text(PROGRAM, encoding="utf-8")
    run(*maven, "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath", cwd=client)
    classpath = f"target/classes:{(client / 'classpath').read_text(encoding='utf-8')}"
    said = run("java", "-cp", classpath, "Program", f"http://127.0.0.1:{server.port}", STORM, STORM_NEAR, cwd=client)
    assert said.split() == ["new", "a", "1", "true"]
