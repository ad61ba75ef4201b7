"""Whether exported models compute what the runtime computes.

    check_onnx.py FOLDER      each FOLDER/NAME.onnx with its inputs and the runtime's outputs in FOLDER/NAME.json
    check_onnx.py --accuracy MODEL.onnx FOLDER
                              on the test images of FOLDER (IDX), pixels from 0 to 1
    check_onnx.py --standard  the interpreter itself, on the standard's own test cases of the ops that exports use

The last line says how many passed; the status is 1 where one did not.
"""
import glob
import json
import sys

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference

import onnx_numpy

ERROR_MAX = 1e-4  # of float32 sums in another order; of outputs beyond 1 this share
TYPES = {"float32": np.float32, "int64": np.int64, "int32": np.int32}


def check_model(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    with open(path[:-len("onnx")] + "json", encoding="utf-8") as file:
        case = json.load(file)
    names = sorted(one.name for one in model.graph.input)
    assert names == sorted(case["inputs"]), f"inputs are {names}"
    inputs = {
        name: np.array(one["values"], TYPES[one["type"]]).reshape(one["shape"])
        for name, one in case["inputs"].items()
    }
    outputs = onnx_numpy.run(inferred, inputs)
    assert sorted(outputs) == sorted(case["outputs"]), f"outputs are {sorted(outputs)}"
    worst = 0.0
    for name, wanted in case["outputs"].items():
        wanted = np.array(wanted, np.float32)
        given = outputs[name].reshape(-1)
        assert wanted.shape == given.shape, f"{name} has {given.shape} numbers, not {wanted.shape}"
        assert np.abs(wanted).max() > 1e-3, f"{name} is all zeros, which shows nothing"
        worst = max(worst, float(np.abs(wanted - given).max() / max(1, np.abs(wanted).max())))
    return worst


def check_folder(folder):
    failed = 0
    paths = sorted(glob.glob(folder + "/*.onnx"))
    for path in paths:
        name = path[len(folder) + 1:-len(".onnx")]
        try:
            worst = check_model(path)
        except Exception as error:  # whatever is wrong with one, the others are looked at
            print(f"{name}: {type(error).__name__}: {error}")
            failed += 1
            continue
        print(f"{name}: differs by {worst:.1e} at most")
        failed += worst > ERROR_MAX or not np.isfinite(worst)
    print(f"{len(paths) - failed} of {len(paths)} models compute what the runtime computes")
    return failed == 0 and len(paths) > 0


def uses_what_exports_use(node):
    """Not what the standard has besides: other layouts, peepholes, rounding, several results of a pool."""
    unused = {"layout", "clip", "ceil_mode", "auto_pad", "training_mode", "storage_order", "allowzero"}
    attributes = {one.name for one in node.attribute}
    is_other_pad = node.op_type == "Pad" and any(one.s not in (b"", b"constant") for one in node.attribute)
    is_peephole = node.op_type == "LSTM" and len(node.input) > 7
    return node.op_type in onnx_numpy.OPS and not attributes & unused and not is_peephole and \
        not is_other_pad and \
        not (node.op_type in ("MaxPool", "BatchNormalization") and len(node.output) > 1)


def check_standard():
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        setattr(np, name, kind)  # the cases of 1.12 use names that numpy has given up
    from onnx.backend.test.case.node import collect_testcases
    passed, failed, ops = 0, 0, set()
    for case in collect_testcases(None):
        node = case.model.graph.node[0]
        is_other = "uint8" in case.name or "default_axes_keepdims" in case.name
        if len(case.model.graph.node) != 1 or not uses_what_exports_use(node) or is_other:
            continue
        try:
            for inputs, outputs in case.data_sets:
                names = [one.name for one in case.model.graph.input]
                given = onnx_numpy.run(case.model, dict(zip(names, inputs)))
                for one, wanted in zip(case.model.graph.output, outputs):
                    np.testing.assert_allclose(given[one.name], wanted, rtol=1e-4, atol=1e-5)
            passed += 1
            ops.add(node.op_type)
        except Exception as error:
            failed += 1
            print(f"{case.name}: {type(error).__name__}: {str(error)[:200]}")
    missing = sorted(set(onnx_numpy.OPS) - ops)
    print(f"{passed} cases of {len(ops)} ops pass, {failed} do not; no case of {missing}")
    return failed == 0 and passed > 100


def show_accuracy(path, folder):
    def read(name, skipped):
        with open(f"{folder}/t10k-{name}-ubyte", "rb") as file:
            return np.frombuffer(file.read()[skipped:], np.uint8)

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    labels = read("labels-idx1", 8)
    field = model.graph.input[0]
    shape = [one.dim_value for one in field.type.tensor_type.shape.dim][1:]
    images = read("images-idx3", 16).astype(np.float32).reshape([len(labels)] + shape) / 255
    scores = onnx_numpy.run(model, {field.name: images})[model.graph.output[0].name]
    print(f"accuracy on {len(labels)} images: {(scores.argmax(-1) == labels).mean():.6f}")
    return True


if __name__ == "__main__":
    if sys.argv[1] == "--accuracy":
        is_right = show_accuracy(*sys.argv[2:])
    else:
        is_right = check_standard() if sys.argv[1] == "--standard" else check_folder(sys.argv[1])
    sys.exit(0 if is_right else 1)
